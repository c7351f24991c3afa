import { pino } from 'pino'
import type { Logger } from '../index.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { LogWriter } from './log-writer.ts'

/**
 * JSON, a line for each thing that happens, on the standard output. No happening carries a body or a secret; the names
 * below are for what a transform may log.
 */
export function createLogger({ level }: ResolvedConfig['log']): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['*.authorization', '*.cookie', '*.secret', '*.secrets', '*.token', '*.password'],
    },
    new LogWriter(STANDARD_OUTPUT, describeDropped),
  )
}

const STANDARD_OUTPUT = 1

/** As the logger itself would write it. */
function describeDropped(lines: number): string {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, pid: process.pid, lines, msg: 'log.dropped' })}\n`
}
