import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'
import { cutText, displayWidth, padText } from './display-width.ts'
import { paint } from './paint.ts'
import type { Style } from './paint.ts'

/** A name and a value; one without a value is left out. */
export type Field = readonly [name: string, value: string | undefined, style?: Style | undefined]

/** Names and values below each other. Values are whole: here a person looks at one thing. */
export function printFields(shell: Shell, fields: readonly Field[]): void {
  const shown = fields.filter(([, value]) => value !== undefined && value !== '')
  const width = Math.max(...shown.map(([name]) => displayWidth(name)), 0)
  for (const [name, value = '', style] of shown)
    shell.print(
      `  ${paint(shell, 'dim', padText(name, width))}  ${paint(shell, style, escapeText(value))}`,
    )
}

/** What follows is about this. */
export function printHeading(shell: Shell, text: string): void {
  shell.print('')
  shell.print(paint(shell, 'bold', escapeText(text)))
}

/** One line of a list below a heading, cut where the terminal ends. */
export function printItem(shell: Shell, text: string, style?: Style): void {
  shell.print(paint(shell, style, cutText(`  ${escapeText(text)}`, shell.columns)))
}
