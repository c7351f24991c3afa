import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** As long as wrk would wait. */
const ANSWER_TIMEOUT_MS = 10_000

/** A connection to a server that answers one request at a time. Made anew when it broke. */
export class LoadConnection {
  readonly #port: number
  #socket: Socket | undefined
  #received = ''
  #answered: ((status: number | undefined) => void) | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** The status of the answer; `undefined` when the connection broke first. */
  send(request: Buffer): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#socket ??= this.#open()
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #open(): Socket {
    const socket = connect(this.#port, '127.0.0.1')
    socket.setNoDelay(true).setEncoding('latin1').setTimeout(ANSWER_TIMEOUT_MS)
    socket.on('timeout', () => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#socket = undefined
      this.#received = ''
      this.#answer(undefined)
    })
    socket.on('data', (text: string) => this.#take(text))
    return socket
  }

  #take(text: string): void {
    this.#received += text
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? 0)
    if (this.#received.length < headEnd + 4 + length) return
    const status = Number(this.#received.slice(9, 12))
    this.#received = ''
    this.#answer(status)
  }

  #answer(status: number | undefined): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(status)
  }
}
