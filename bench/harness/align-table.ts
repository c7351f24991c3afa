/** For a terminal: the first column to the left, the others to the right. */
export function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  )
  const lines = rows.map((cells) =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  '),
  )
  return lines.map((line) => `  ${line}`).join('\n')
}
