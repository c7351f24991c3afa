/** A table in Markdown. Cells are not padded, or the longest of a column would be the width of all. */
export function writeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map(toCell).join(' | ')} |`)
    .join('\n')
}

/** For the cell of a table, which is one line. */
function toCell(text: string): string {
  return text
    .replaceAll(/\n\s*\n/g, '<br>')
    .replaceAll(/\s*\n\s*(?=- )/g, '<br>')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
}
