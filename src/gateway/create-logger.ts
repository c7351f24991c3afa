import { pino } from 'pino'
import type { Logger } from '../index.ts'
import { escapeText } from '../telemetry/escape-text.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { LogWriter } from './log-writer.ts'

/** A logger whose level a reload of the config can change. */
export interface LevelledLogger extends Logger {
  level: string
}

/**
 * JSON, a line for each thing that happens, on the standard output. No happening carries a body or a secret; the names
 * below are for what a transform may log.
 *
 * What a sender wrote, such as the type of an event, is in these lines: what would steer the terminal in which they are
 * read is escaped, as JSON escapes it.
 */
export function createLogger(
  { level }: ResolvedConfig['log'],
  fd: number = STANDARD_OUTPUT,
): LevelledLogger {
  const writer = new LogWriter(fd, describeDropped)
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: REDACTED,
    },
    { write: (line) => writer.write(`${escapeText(line.trimEnd())}\n`) },
  )
}

const STANDARD_OUTPUT = 1

const SECRET_NAMES = [
  'authorization',
  'cookie',
  'set-cookie',
  'secret',
  'secrets',
  'token',
  'password',
  'apiKey',
  'api_key',
]

/** At the top of a line, and in what is in it: a path of pino's says how deep it looks. */
const REDACTED = SECRET_NAMES.flatMap((name) => [
  `["${name}"]`,
  `*["${name}"]`,
  `*.*["${name}"]`,
  `*.*.*["${name}"]`,
])

/** As the logger itself would write it. */
function describeDropped(lines: number): string {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, pid: process.pid, lines, msg: 'log.dropped' })}\n`
}
