import { pino } from 'pino'
import type { Logger } from '../index.ts'
import type { ResolvedConfig } from './config/schema.ts'

/**
 * JSON, a line for each thing that happens, on the standard output. Written at once: a process that is killed has
 * said what it knew. No happening carries a body or a secret; the names below are for what a transform may log.
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
    pino.destination({ fd: 1, sync: true }),
  )
}
