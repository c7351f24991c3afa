/**
 * A terminal's screen as an SVG. Every run of one style is stretched to its columns, so that tables stand straight in
 * whatever font the reader has.
 *
 * @module
 */

import { displayWidth } from '../../src/cli/output/display-width.ts'

export interface DrawTerms {
  /** For readers who cannot see it. */
  readonly title: string
  readonly columns: number
}

const COLUMN = 8.4
const ROW = 19
const MARGIN = 16
const COLOURS = {
  text: '#d8dee6',
  ground: '#14181d',
  red: '#ff7b72',
  green: '#7ee787',
  yellow: '#e3b341',
  cyan: '#79c0ff',
} as const
const CODES: Readonly<Record<string, keyof typeof COLOURS>> = {
  31: 'red',
  32: 'green',
  33: 'yellow',
  36: 'cyan',
}

interface Style {
  readonly colour: keyof typeof COLOURS
  readonly isBold: boolean
  readonly isDim: boolean
}

const PLAIN: Style = { colour: 'text', isBold: false, isDim: false }

export function drawScreen(screen: string, { title, columns }: DrawTerms): string {
  const lines = screen.split('\n')
  const width = Math.round(columns * COLUMN + 2 * MARGIN)
  const height = lines.length * ROW + 2 * MARGIN
  let style = PLAIN
  const rows = lines.map((line, at) => {
    const drawn = drawLine(line, MARGIN + (at + 0.75) * ROW, style)
    style = drawn.style
    return drawn.text
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="${COLOURS.ground}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${COLOURS.text}" xml:space="preserve">
${rows.filter((row) => row !== '').join('\n')}
</g>
</svg>
`
}

function drawLine(line: string, y: number, first: Style): { text: string; style: Style } {
  let style = first
  let column = 0
  let text = ''
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    const codes = /^\u001b\[([0-9;]*)m$/.exec(part)?.[1]
    if (codes !== undefined) {
      style = codes.split(';').reduce(change, style)
      continue
    }
    // Spaces between columns are left out: not every viewer keeps them.
    for (const piece of part.split(/( {2,})/)) {
      text += drawRun(piece, column, y, style)
      column += displayWidth(piece)
    }
  }
  return { text, style }
}

function change(style: Style, code: string): Style {
  const colour = CODES[code]
  if (colour !== undefined) return { ...style, colour }
  if (code === '' || code === '0') return PLAIN
  if (code === '1') return { ...style, isBold: true }
  if (code === '2') return { ...style, isDim: true }
  if (code === '22') return { ...style, isBold: false, isDim: false }
  if (code === '39') return { ...style, colour: 'text' }
  return style
}

function drawRun(
  part: string,
  column: number,
  y: number,
  { colour, isBold, isDim }: Style,
): string {
  const text = part.trimEnd()
  const skipped = text.length - text.trimStart().length
  if (text === '') return ''
  const shown = text.trimStart()
  const attributes = [
    `x="${(MARGIN + (column + skipped) * COLUMN).toFixed(1)}"`,
    `y="${y.toFixed(1)}"`,
    `textLength="${(displayWidth(shown) * COLUMN).toFixed(1)}"`,
    ...(colour === 'text' ? [] : [`fill="${COLOURS[colour]}"`]),
    ...(isBold ? ['font-weight="bold"'] : []),
    ...(isDim ? ['opacity="0.6"'] : []),
  ]
  return `<text ${attributes.join(' ')} lengthAdjust="spacingAndGlyphs">${escape(shown)}</text>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
