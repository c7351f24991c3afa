import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'
import { cutText, displayWidth, padText } from './display-width.ts'
import { paint } from './paint.ts'
import type { Style } from './paint.ts'
import { wrapWords } from './wrap-text.ts'

/** A name and a value; one without a value is left out. */
export type Field = readonly [name: string, value: string | undefined, style?: Style | undefined]

/**
 * Names and values below each other. Values are whole: here a person looks at one thing. One that is too long goes on
 * below itself; a command is left to the terminal, since it is to be copied.
 */
export function printFields(shell: Shell, fields: readonly Field[]): void {
  const shown = fields
    .filter(([, value]) => value !== undefined && value !== '')
    // The names of headers are a sender's as well.
    .map(([name, value, style]): Field => [escapeText(name), value, style])
  const width = Math.max(...shown.map(([name]) => displayWidth(name)), 0)
  for (const [name, value = '', style] of shown)
    linesOf(escapeText(value), shell.columns - width - 4).forEach((line, at) => {
      const label = padText(at === 0 ? name : '', width)
      shell.print(`  ${paint(shell, 'dim', label)}  ${paint(shell, style, line)}`)
    })
}

function linesOf(value: string, columns: number): readonly string[] {
  return value.startsWith('hookonce ') ? [value] : wrapWords(value, columns)
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
