/**
 * Keys and short answers from a terminal in raw mode, one after the other: what is typed while a key is at work waits.
 *
 * However the process ends, but for `kill -9`, the terminal is put back: by `stop`, or by Node when the process ends by
 * an error that is not caught. `test/cli/dev-keys.test.ts` holds both.
 *
 * @module
 */

import type { ReadStream } from 'node:tty'
import type { Screen } from './screen.ts'

type OnKey = (key: string) => Promise<void>

/** A question that is being answered. */
interface Answering {
  readonly question: string
  readonly isSecret: boolean
  readonly answer: (text: string | undefined) => void
  typed: string
}

const [INTERRUPT, END, SUSPEND, ESCAPE] = ['\x03', '\x04', '\x1a', '\x1b']

/** What arrow and function keys send, which are no keys of ours. */
const SEQUENCE = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[ -~])/g

/** The keyboard of one process. */
export class Keyboard {
  readonly #input: ReadStream
  readonly #screen: Screen
  readonly #onData = (chunk: Buffer): void => this.#take(chunk.toString())
  #onKey: OnKey = async () => undefined
  #onInterrupt: () => void = () => undefined
  #waiting: string[] = []
  #answering: Answering | undefined
  #isBusy = false

  constructor(input: ReadStream, screen: Screen) {
    this.#input = input
    this.#screen = screen
  }

  /** Begins to listen. Ctrl-C interrupts at once, also while a key is at work. */
  start(on: { readonly key: OnKey; readonly interrupt: () => void }): void {
    this.#onKey = on.key
    this.#onInterrupt = on.interrupt
    this.#input.setRawMode(true)
    this.#input.on('data', this.#onData)
    this.#pump()
  }

  stop(): void {
    this.#input.off('data', this.#onData)
    this.#input.pause()
    this.#input.setRawMode(false)
  }

  /** What was typed up to the end of the line; `undefined` where it was left with Esc or Ctrl-C. */
  async ask(
    question: string,
    { isSecret = false }: { readonly isSecret?: boolean } = {},
  ): Promise<string | undefined> {
    const answered = new Promise<string | undefined>((answer) => {
      this.#answering = { question, isSecret, answer, typed: '' }
    })
    this.#screen.ask(question)
    this.#pump()
    return answered
  }

  #take(text: string): void {
    for (const key of text.replace(SEQUENCE, '')) {
      if (this.#answering === undefined && (key === INTERRUPT || key === END)) this.#onInterrupt()
      else if (key === SUSPEND) this.#suspend()
      else this.#waiting.push(key)
    }
    this.#pump()
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      if (this.#answering !== undefined)
        this.#type(this.#answering, this.#waiting.shift() as string)
      else if (this.#isBusy) return
      else this.#press(this.#waiting.shift() as string)
    }
  }

  #press(key: string): void {
    this.#isBusy = true
    void this.#onKey(key).finally(() => {
      this.#isBusy = false
      this.#pump()
    })
  }

  #type(answering: Answering, key: string): void {
    if (key === '\r' || key === '\n') return this.#answered(answering, answering.typed)
    if (key === INTERRUPT || key === ESCAPE) return this.#answered(answering, undefined)
    if (key === '\x7f' || key === '\b') answering.typed = answering.typed.slice(0, -1)
    else if (key >= ' ') answering.typed += key
    this.#screen.ask(answering.question + shown(answering))
  }

  #answered(answering: Answering, text: string | undefined): void {
    this.#answering = undefined
    this.#screen.ask('')
    this.#screen.line(answering.question + (text === undefined ? '(left)' : shown(answering)))
    answering.answer(text?.trim())
  }

  /**
   * As a shell expects of Ctrl-Z: the terminal is its own again, until it brings us back. The shell waits for npx or
   * npm, so that these stop as well: everything in our process group.
   */
  #suspend(): void {
    if (process.platform === 'win32') return
    this.#input.setRawMode(false)
    process.once('SIGCONT', () => void this.#input.setRawMode(true))
    process.kill(0, 'SIGTSTP')
  }
}

/** Of a secret, how much was typed. */
function shown({ typed, isSecret }: Answering): string {
  return isSecret ? '*'.repeat(typed.length) : typed
}
