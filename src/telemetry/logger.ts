/**
 * From happenings to log lines.
 *
 * The logger is the user's: anything with the four methods below, such as pino. Left out, warnings
 * and errors go to the console as one JSON object a line, with control characters escaped.
 *
 * @module
 */

import { asError, OptionInvalidError } from '../errors.ts'
import { describeError } from './describe-error.ts'
import type { HappeningEmitter } from './emitter.ts'
import type { HappeningName } from './happenings.ts'
import { escapeText } from './escape-text.ts'
import { MinuteLines } from './minute-lines.ts'

/** What a line says beside its message. */
export type LogFields = Readonly<Record<string, unknown>>

/** Anything with these four methods. The order of arguments is pino's. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** Where it is there, as it is in pino, nothing is put together for a level that is off. */
  isLevelEnabled?(level: LogLevel): boolean
}

/** How much a line matters. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The level of every happening. A new happening without a level does not compile. */
export const HAPPENING_LEVELS: Readonly<Record<HappeningName, LogLevel>> = {
  'delivery.accepted': 'debug',
  'delivery.duplicate': 'warn',
  'delivery.revived': 'info',
  'delivery.conflict': 'warn',
  'delivery.quarantined': 'warn',
  'delivery.refused': 'warn',
  'delivery.handshake': 'info',
  'delivery.malformed': 'warn',
  'delivery.unavailable': 'error',
  'delivery.body-parsed': 'error',
  'delivery.answered': 'debug',
  'event.done': 'debug',
  'event.skipped': 'info',
  'event.failed': 'warn',
  'event.dead': 'error',
  'event.unhandled': 'warn',
  'event.crashed': 'error',
  'lane.blocked': 'error',
  'lane.freed': 'info',
  'step.uncertain': 'warn',
  'lease.lost': 'warn',
  'lease.given-back': 'warn',
  'group.rerun': 'debug',
  'group.commit-unknown': 'warn',
  'group.given-back': 'warn',
  'worker.not-started': 'warn',
  'inbox.found-at-start': 'warn',
  'worker.started': 'info',
  'worker.stopped': 'info',
  'worker.error': 'error',
  'message.sent': 'debug',
  'message.failed': 'warn',
  'message.dead': 'error',
  'message.unknown': 'error',
  'message.resent': 'warn',
  'message.lease-lost': 'warn',
  'destination.paused': 'error',
  'operator.acted': 'info',
  'destination.held': 'warn',
  'relay.started': 'info',
  'relay.stopped': 'info',
  'relay.error': 'error',
  'worker.late': 'error',
  'retention.pruned': 'info',
  'retention.stopped': 'error',
  'retention.error': 'error',
  'store.commit-unknown': 'warn',
  'store.unavailable': 'error',
  'store.available': 'info',
  'store.listen-lost': 'warn',
  'store.listen-restored': 'info',
  'store.went-back': 'error',
  'store.decrypt-failed': 'error',
  'store.warning': 'warn',
  'clock.skewed': 'error',
  'once.conflict': 'warn',
  'guard.done': 'debug',
  'guard.duplicate': 'warn',
  'guard.busy': 'info',
  'guard.failed': 'warn',
  'guard.unmarked': 'error',
  'guard.unguarded': 'error',
  'guard.conflict': 'warn',
  'guard.refused': 'error',
  'guard.result-dropped': 'warn',
  'clock.went-back': 'error',
  'source.warning': 'warn',
}

/** What was given as a logger, or the console. One that is none would fail at every line, unseen. */
export function resolveLogger(option: string, logger: Logger | undefined): Logger {
  if (logger === undefined) return consoleLogger()
  const given = logger as Partial<Record<LogLevel, unknown>> | null
  if (LEVELS.every((level) => typeof given?.[level] === 'function')) return logger
  throw new OptionInvalidError(option, 'an object with debug, info, warn and error', logger)
}

/** Writes a line for every happening, or for a minute of them; returns how to stop. */
export function logHappenings(emitter: HappeningEmitter, logger: Logger): () => void {
  const sample = createSampler()
  const write = (name: HappeningName, happening: object): void => {
    const level = HAPPENING_LEVELS[name]
    if (logger.isLevelEnabled?.(level) === false) return
    logger[level]({ ...describeFields(happening), happening: name }, name)
  }
  const minutes = new MinuteLines<{ name: HappeningName; happening: object }>(
    ({ name, happening }, count) => write(name, { ...happening, count }),
  )
  const stopListening = emitter.onAny((name, happening) => {
    if (ONCE_A_MINUTE.includes(name)) {
      const { source } = happening as { readonly source: string }
      minutes.add(`${name} ${source}`, { name, happening })
    } else if (sample(name)) write(name, happening)
  })
  return () => {
    stopListening()
    minutes.flush()
  }
}

/** What happens as often as deliveries do, and has to be seen once: each source for itself, with the count. */
const ONCE_A_MINUTE: readonly HappeningName[] = [
  'delivery.duplicate',
  'guard.duplicate',
  'worker.not-started',
]

/** One JSON object a line on the console, from `level` up: `'warn'` unless said otherwise. */
export function consoleLogger(level: LogLevel = 'warn'): Logger {
  const enabled = new Set(LEVELS.slice(LEVELS.indexOf(level)))
  const write = (at: LogLevel) => (fields: LogFields, message: string) => {
    if (!enabled.has(at)) return
    const line = writeLine({ level: at, time: new Date().toISOString(), ...fields, message })
    // JSON has escaped what is below U+0020; the rest of the dangerous characters is left to us.
    console[at](escapeText(line))
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    isLevelEnabled: (at) => enabled.has(at),
  }
}

/** A line must never fail what it tells of: what JSON cannot write is written as text, or left out. */
function writeLine(fields: LogFields): string {
  try {
    return JSON.stringify(fields, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
  } catch {
    const { level, time, message } = fields
    return JSON.stringify({ level, time, message, note: 'the fields could not be written as JSON' })
  }
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/**
 * An unsigned handshake is a stranger's as well, and so is whatever comes to a route whose body was parsed,
 * or while there is no room for more bodies.
 */
const SAMPLED: readonly HappeningName[] = [
  'delivery.answered',
  'delivery.body-parsed',
  'delivery.refused',
  'delivery.malformed',
  'delivery.handshake',
  'delivery.unavailable',
  // The clients of an endpoint choose its keys and its payloads.
  'once.conflict',
]

/**
 * Strangers can cause refusals at any rate they like, so those lines are sampled: at most twenty a
 * second, each kind for itself. Everything else is caused by verified senders or by us.
 */
function createSampler(): (name: HappeningName) => boolean {
  const written = new Map<HappeningName, { second: number; count: number }>()
  return (name) => {
    if (!SAMPLED.includes(name)) return true
    const second = Math.floor(performance.now() / 1_000)
    const entry = written.get(name)
    if (entry?.second !== second) {
      written.set(name, { second, count: 1 })
      return true
    }
    entry.count += 1
    return entry.count <= 20
  }
}

function describeFields(happening: object): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(happening)) {
    if (value === undefined || name === 'result') continue
    fields[name] = value instanceof Error ? describeError(asError(value)) : value
  }
  return fields
}
