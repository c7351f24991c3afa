import type { LogFields, Logger } from '../../telemetry/logger.ts'

const LINES_MAX = 200

/** Keeps what is of use when a test fails, and says nothing while it does not. */
export class KeptLog implements Logger {
  readonly lines: string[] = []

  debug(): void {}

  info(): void {}

  warn(fields: LogFields, message: string): void {
    this.#keep('warn', fields, message)
  }

  error(fields: LogFields, message: string): void {
    this.#keep('error', fields, message)
  }

  isLevelEnabled(level: string): boolean {
    return level === 'warn' || level === 'error'
  }

  #keep(level: string, { error, key, type }: LogFields, message: string): void {
    // It runs when the test says so.
    if (message === 'worker.not-started') return
    const about = [type, key, messageOf(error)].filter((part) => part !== undefined).map(String)
    this.lines.push([level, message, ...about].join(' '))
    if (this.lines.length > LINES_MAX) this.lines.shift()
  }
}

function messageOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error
  return 'message' in error ? error.message : undefined
}
