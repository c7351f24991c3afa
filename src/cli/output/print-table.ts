/**
 * Tables that fit the terminal: what is too long is cut with `…`, what does not fit at all is left out, and a line is
 * never wrapped. What is in them may be a stranger's, so that it is escaped.
 *
 * @module
 */

import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'
import { cutText, displayWidth, padText } from './display-width.ts'
import { paint } from './paint.ts'
import type { Style } from './paint.ts'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => string
  /** An id is of use only as a whole, so that it is never cut. */
  readonly isWhole?: boolean
  /** Where the terminal is too narrow, the column with the highest number goes first. Left out, it stays. */
  readonly dispensable?: number
  readonly style?: (row: Row) => Style | undefined
}

export interface TableTerms<Row> {
  /** A line below the row, for a text that would take a column too wide. */
  readonly note?: (row: Row) => string | undefined
}

const GAP = '  '
const NARROWEST = 8
/** Also where no terminal is: the text of one stranger would make every line as wide as itself. */
const WIDEST = 120

export function printTable<Row>(
  shell: Shell,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { note }: TableTerms<Row> = {},
): void {
  const laid = fit(
    columns.map((column) => layOut(column, rows)),
    shell.columns,
  )
  const line = (paintCell: (column: Laid<Row>, text: string) => string, at: number): string =>
    laid
      .map((column, index) => {
        const text = cutText(at < 0 ? column.head : (column.cells[at] ?? ''), column.width)
        const isLast = index === laid.length - 1
        return paintCell(column, isLast ? text : padText(text, column.width))
      })
      .join(GAP)
      .trimEnd()
  shell.print(line((_, text) => paint(shell, 'bold', text), -1))
  rows.forEach((row, at) => {
    shell.print(line(({ style }, text) => paint(shell, style?.(row), text), at))
    const below = note?.(row)
    if (below !== undefined && below !== '')
      shell.print(paint(shell, 'dim', cutText(`  ${escapeText(below)}`, shell.columns)))
  })
}

interface Laid<Row> extends Column<Row> {
  readonly cells: readonly string[]
  readonly width: number
}

function layOut<Row>(column: Column<Row>, rows: readonly Row[]): Laid<Row> {
  const cells = rows.map((row) => escapeText(column.cell(row)))
  // Not Math.max(...): a list can be longer than a call may have arguments.
  const width = cells.reduce(
    (widest, cell) => Math.max(widest, displayWidth(cell)),
    displayWidth(column.head),
  )
  return { ...column, cells, width: column.isWhole === true ? width : Math.min(width, WIDEST) }
}

function fit<Row>(columns: readonly Laid<Row>[], width: number): readonly Laid<Row>[] {
  const excess = totalOf(columns) - width
  if (excess <= 0) return columns
  const narrowed = narrow(columns, excess)
  if (narrowed !== undefined) return narrowed
  const ranks = columns.map(({ dispensable = -1 }) => dispensable)
  const highest = Math.max(...ranks)
  if (highest < 0) return columns
  const left = ranks.lastIndexOf(highest)
  return fit(
    columns.filter((_, index) => index !== left),
    width,
  )
}

/**
 * Takes from the widest, a column at a time: from those that could go, and then from the others. `undefined` where that
 * is not enough.
 */
function narrow<Row>(
  columns: readonly Laid<Row>[],
  excess: number,
): readonly Laid<Row>[] | undefined {
  const widths = columns.map(({ width }) => width)
  const findWidest = (isMeant: (column: Laid<Row>) => boolean): number => {
    let widest = -1
    columns.forEach((column, index) => {
      if (column.isWhole === true || !isMeant(column)) return
      if ((widths[index] ?? 0) > Math.max(NARROWEST, widths[widest] ?? 0)) widest = index
    })
    return widest
  }
  for (let left = excess; left > 0; left -= 1) {
    const beside = findWidest(({ dispensable }) => dispensable !== undefined)
    const widest = beside < 0 ? findWidest(() => true) : beside
    if (widest < 0) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return columns.map((column, index) => ({ ...column, width: widths[index] ?? column.width }))
}

function totalOf(columns: readonly { readonly width: number }[]): number {
  const gaps = Math.max(0, columns.length - 1) * GAP.length
  return columns.reduce((sum, { width }) => sum + width, gaps)
}
