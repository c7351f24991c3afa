import type { EventRecord } from '../../index.ts'
import type { Shell } from '../shell.ts'
import { printHeading, printItem } from './print-fields.ts'

const LINES_MAX = 20
const BYTES_MAX = 256 * 1024

/** The payload of an event, laid out where it is JSON. It is a stranger's: every line is escaped. */
export function printBody(
  shell: Shell,
  { body, headers, payload, id }: Pick<EventRecord, 'body' | 'headers' | 'payload' | 'id'>,
  linesMax: number = LINES_MAX,
): void {
  if (payload !== 'kept') return
  const kind = [headers['content-type'] ?? ''].flat().join(', ')
  printHeading(shell, `Body (${kind === '' ? '' : `${kind}, `}${body.byteLength} bytes)`)
  const lines = layOut(body)
  if (lines === undefined)
    printItem(shell, `(no text; hookonce events body ${id} writes it)`, 'dim')
  for (const line of (lines ?? []).slice(0, linesMax)) printItem(shell, line)
  if (lines !== undefined && lines.length > linesMax)
    printItem(
      shell,
      `… ${lines.length - linesMax} more lines: --full, or hookonce events body ${id}`,
      'dim',
    )
}

/** `undefined` for what is no text, or too much of it for a screen. */
function layOut(body: Uint8Array): readonly string[] | undefined {
  if (body.byteLength > BYTES_MAX) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2).split('\n')
  } catch {
    return text.split('\n')
  }
}
