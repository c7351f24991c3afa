import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'

const PROMPT = '$ '
const PATIENCE_MS = 60_000

export interface TerminalTerms {
  readonly columns: number
  readonly rows: number
  readonly folder: string
  /** Looked through for commands before anything else. */
  readonly bin: string
}

/** A terminal of a fixed size with a shell in it. tmux keeps the screen, with its colours. */
export class Terminal implements AsyncDisposable {
  readonly #socket = `hookonce-${randomUUID().slice(0, 8)}`

  static async open({ columns, rows, folder, bin }: TerminalTerms): Promise<Terminal> {
    const terminal = new Terminal()
    const environment = [`PATH=${bin}:${process.env['PATH'] ?? ''}`, `PS1=${PROMPT}`, 'TZ=UTC']
    terminal.#tmux(
      ...['-f', '/dev/null', 'new-session', '-d', '-x', String(columns), '-y', String(rows)],
      ...['-c', folder, 'env', '-u', 'NO_COLOR', ...environment, 'sh', '-i'],
    )
    terminal.#tmux('set-option', '-g', 'status', 'off')
    await terminal.untilShown(PROMPT.trim())
    return terminal
  }

  /** Types a line, and waits until the prompt is there again. */
  async run(line: string): Promise<void> {
    this.type(`${line}\n`)
    await this.#until(`${line} ends`, (screen) => {
      const lines = screen.trimEnd().split('\n')
      return lines.length > 1 && lines.at(-1) === PROMPT.trim()
    })
  }

  type(text: string): void {
    for (const part of text.split(/(?=\n)/))
      if (part.startsWith('\n')) {
        this.#tmux('send-keys', 'Enter')
        if (part.length > 1) this.#tmux('send-keys', '-l', part.slice(1))
      } else this.#tmux('send-keys', '-l', part)
  }

  async untilShown(text: string): Promise<void> {
    await this.#until(`the screen shows ${text}`, (screen) => screen.includes(text))
  }

  /** What is on the screen, with the sequences of its colours, without the prompt that waits. */
  capture(): string {
    const lines = this.#tmux('capture-pane', '-e', '-p').trimEnd().split('\n')
    const last = lines.at(-1)?.replace(/\u001b\[[0-9;]*m/g, '')
    return (last?.trim() === PROMPT.trim() ? lines.slice(0, -1) : lines).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tmux('kill-server')
  }

  async #until(what: string, is: (screen: string) => boolean): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS
    while (!is(this.#tmux('capture-pane', '-p'))) {
      if (performance.now() > endMs)
        throw new Error(`Waited in vain: ${what}\n${this.#tmux('capture-pane', '-p')}`)
      await wait(50)
    }
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8' })
  }
}
