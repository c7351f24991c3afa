import { escapeText } from '../telemetry/escape-text.ts'

/** Columns of text, as wide as they need to be. What is in them may be a stranger's, so that it is escaped. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = [head, ...rows].map((row) => row.map((cell) => escapeText(cell)))
  const widths = head.map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? '').length)),
  )
  for (const row of cells)
    console.log(
      row
        .map((cell, column) =>
          column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
        )
        .join('  '),
    )
}
