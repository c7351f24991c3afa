import type { EventState, MessageState } from '../../index.ts'
import type { Shell } from '../shell.ts'

/**
 * What begins a style and what ends it. `styleText` of Node asks its own standard output whether there are colours, and
 * not the shell.
 */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export type Style = keyof typeof STYLES

/** Colour where a person sees it, and nothing anywhere else. */
export function paint(
  { hasColour }: Pick<Shell, 'hasColour'>,
  style: Style | undefined,
  text: string,
): string {
  if (!hasColour || style === undefined || text === '') return text
  const [begin, end] = STYLES[style]
  return `\u001b[${begin}m${text}\u001b[${end}m`
}

/** What waits for a person stands out. */
export const STATE_STYLES: Readonly<Record<EventState | MessageState, Style>> = {
  ready: 'cyan',
  running: 'cyan',
  sending: 'cyan',
  done: 'green',
  sent: 'green',
  dead: 'red',
  unknown: 'red',
  waiting: 'yellow',
  unhandled: 'yellow',
  conflict: 'yellow',
  quarantined: 'yellow',
  skipped: 'dim',
  discarded: 'dim',
}
