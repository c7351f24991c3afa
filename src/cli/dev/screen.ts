import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import { escapeText } from '../../telemetry/escape-text.ts'
import { cutStart, displayWidth } from '../output/display-width.ts'
import { wrapText } from '../output/wrap-text.ts'

type Style = Parameters<typeof styleText>[0]

/** The longest text of a stranger that one line shows. */
const SHOWN_MAX = 160

/**
 * Where `hookonce dev` writes: lines, and below them at most one question that is being answered. Without a terminal
 * there are lines only, and no colours.
 */
export class Screen {
  readonly isTerminal: boolean
  readonly #hasColours: boolean
  readonly #output: typeof process.stdout
  #question = ''

  constructor(output: typeof process.stdout, environment: NodeJS.ProcessEnv) {
    this.#output = output
    this.isTerminal = isatty(output.fd)
    this.#hasColours = this.isTerminal && !environment['NO_COLOR']
  }

  /** How wide a line may be; `Infinity` where it goes to a file or another program. */
  get columns(): number {
    // A terminal that was not told its size has 0.
    return this.isTerminal ? this.#output.columns || Infinity : Infinity
  }

  line(text = ''): void {
    // The question is taken away, and put back below the line.
    if (this.#question === '') this.#output.write(`${text}\n`)
    else this.#output.write(`${CLEAR_LINE}${text}\n${this.#question}`)
  }

  /** A text in as many lines as it needs. A word that fits on none, such as a long URL, is left to the terminal. */
  paragraph(text: string, indent = '  '): void {
    const room = this.columns - indent.length
    const fits = text.split(' ').every((word) => displayWidth(word) <= room)
    for (const line of fits ? wrapText(text, room) : [text]) this.line(indent + line)
  }

  /**
   * Shows a question with what was typed so far; an empty one ends it, and leaves nothing. It has one row, which can be
   * written anew: where it is too long its end is shown, at which a person types.
   */
  ask(question: string): void {
    this.#question = cutStart(question, this.columns - 1)
    this.#output.write(CLEAR_LINE + this.#question)
  }

  /** For what a terminal understands and a person does not see. */
  control(sequence: string): void {
    if (this.isTerminal) this.#output.write(sequence)
  }

  paint(style: Style, text: string): string {
    return this.#hasColours ? styleText(style, text, { validateStream: false }) : text
  }
}

const CLEAR_LINE = '\r\x1b[K'

/** A stranger's text for one line: harmless, and not too long. */
export function harmless(text: string, lengthMax = SHOWN_MAX): string {
  const escaped = escapeText(text.replace(/\s+/g, ' '))
  return escaped.length <= lengthMax ? escaped : `${escaped.slice(0, lengthMax - 1)}…`
}
