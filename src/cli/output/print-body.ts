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
    JSON.parse(text)
  } catch {
    return text.split('\n')
  }
  return layOutJson(text)
}

const JSON_PIECE = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g
/** As deep as lines are moved to the right: a body that is nothing but brackets would be gigabytes of blanks. */
const INDENT_MAX = 40

/**
 * A line for each member and element, with every number and text as it was written: parsed and written anew,
 * 9007199254740993 would be another number, and 1e400 would be `null`.
 */
function layOutJson(text: string): readonly string[] {
  const pieces = text.match(JSON_PIECE) ?? []
  const lines: string[] = []
  let line = ''
  let depth = 0
  const endLine = (): void => {
    lines.push(line)
    line = '  '.repeat(Math.min(depth, INDENT_MAX))
  }
  for (const [at, piece] of pieces.entries()) {
    const next = pieces[at + 1] ?? ''
    if (piece === '}' || piece === ']') {
      depth -= 1
      if (!OPENS.has(pieces[at - 1] ?? '')) endLine()
    }
    line += piece === ':' ? ': ' : piece
    if (OPENS.has(piece)) {
      depth += 1
      if (next !== '}' && next !== ']') endLine()
    } else if (piece === ',') endLine()
  }
  lines.push(line)
  return lines
}

const OPENS: ReadonlySet<string> = new Set(['{', '['])
