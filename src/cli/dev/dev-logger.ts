import type { Logger } from '../../index.ts'
import { harmless } from './screen.ts'
import type { Screen } from './screen.ts'

/** Lines for a person. What happens in an inbox is told by the tail, and not a second time here. */
export function createDevLogger(screen: Screen): Logger {
  const write: Logger['info'] = (fields, message) => {
    if ('happening' in fields) return
    const words = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`)
    const text = words.length === 0 ? message : `${message} (${words.join('; ')})`
    screen.line(harmless(text, 400))
  }
  return { debug: () => undefined, info: write, warn: write, error: write }
}
