import type { Logger } from '../../index.ts'
import { harmless } from './screen.ts'
import type { Screen } from './screen.ts'

/** Lines for a person. What happens in an inbox is told by the tail, and not a second time here. */
export function createDevLogger(screen: Screen): Logger {
  const write: Logger['info'] = (fields, message) => {
    if ('happening' in fields) return
    const words = Object.entries(fields)
      .filter(([name]) => !TOLD_OTHERWISE.includes(name))
      .map(([name, value]) => `${name}: ${String(value)}`)
    const about = words.length === 0 ? '' : ` (${words.join('; ')})`
    const why = 'error' in fields ? ` ${String(fields['error'])}` : ''
    const text = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}${about}.${why}`
    screen.paragraph(harmless(text, 400))
  }
  return { debug: () => undefined, info: write, warn: write, error: write }
}

/** The store is in the banner; an error is a sentence of its own. */
const TOLD_OTHERWISE: readonly string[] = ['store', 'error']
