/**
 * What stands between senders and receivers: hands each delivery to the next receiver, and counts what came back.
 *
 * It is as a plain reverse proxy is, and no cleverer:
 *
 * - It has a number of connections to each receiver, keeps them, and sends the next delivery on one that is idle.
 * - It does not ask whether a receiver is ready. One that refuses a connection has got nothing: the delivery goes to
 *   the next one, and the receiver is left alone from then on.
 * - A connection that has got its last delivery a while ago is closed and not used again: a receiver that stops closes those
 *   that are idle for a second, and a proxy that stands still for as long would not have read that yet.
 * - A connection that ends when a delivery was on it is not tried again. What became of the delivery is not known, and
 *   only the sender may send it once more. That is the 502 of a proxy, and what a restart must never cause.
 *
 * @module
 */

import http from 'node:http'
import type { Socket } from 'node:net'
import type { Delivery } from '../../../src/index.ts'

/** Less than the second after which a receiver that stops closes a connection that is idle. */
const STALE_MS = 500

/** What came back, in the words of the count. */
export type Answer = `${number}` | '503 without Retry-After' | 'refused' | `cut: ${string}`

export class Balancer {
  readonly #receivers = new Map<number, http.Agent>()
  readonly #answers = new Map<Answer, number>()
  readonly #connections: number
  /** When each connection has got its last delivery. */
  readonly #sentAt = new WeakMap<Socket, number>()
  #next = 0

  /** @param connections - how many to each receiver */
  constructor(connections: number) {
    this.#connections = connections
  }

  /** A receiver that is ready. */
  add(port: number): void {
    const agent = new http.Agent({ keepAlive: true, maxSockets: this.#connections })
    // Before it hands it to the next delivery, which takes another connection then.
    agent.prependListener('free', (socket: Socket) => this.#closeStale([socket]))
    this.#receivers.set(port, agent)
  }

  /** How often each answer came. */
  get answers(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#answers)
  }

  /** `undefined` when no receiver has answered. */
  async deliver(delivery: Delivery): Promise<number | undefined> {
    for (;;) {
      const ports = [...this.#receivers.keys()]
      const port = ports[this.#next++ % ports.length]
      if (port === undefined) return undefined
      const answer = await this.#exchange(port, delivery)
      this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1)
      if (answer !== 'refused')
        return answer.startsWith('cut') ? undefined : Number.parseInt(answer, 10)
      this.#receivers.delete(port)
    }
  }

  close(): void {
    for (const agent of this.#receivers.values()) agent.destroy()
  }

  #closeStale(sockets: readonly Socket[]): void {
    const staleBefore = performance.now() - STALE_MS
    for (const socket of sockets) {
      // One that is new is free as well, and has got none.
      const sentAt = this.#sentAt.get(socket)
      if (sentAt !== undefined && sentAt < staleBefore) socket.destroy()
    }
  }

  #exchange(port: number, { headers, body }: Delivery): Promise<Answer> {
    const agent = this.#receivers.get(port)
    this.#closeStale(Object.values(agent?.freeSockets ?? {}).flatMap((sockets) => sockets ?? []))
    return new Promise((resolve) => {
      const request = http.request(
        {
          host: '127.0.0.1',
          port,
          path: '/in/stripe',
          method: 'POST',
          agent,
          headers: { ...headers, 'content-length': body.length } as http.OutgoingHttpHeaders,
        },
        (response) => {
          response.resume()
          const isBare =
            response.statusCode === 503 && response.headers['retry-after'] === undefined
          response.on('end', () =>
            resolve(isBare ? '503 without Retry-After' : `${response.statusCode ?? 0}`),
          )
          response.on('error', (error) => resolve(`cut: ${codeOf(error)}`))
        },
      )
      request.on('socket', (socket) => this.#sentAt.set(socket, performance.now()))
      request.on('error', (error) => {
        const code = codeOf(error)
        resolve(code === 'ECONNREFUSED' ? 'refused' : `cut: ${code}`)
      })
      request.end(body)
    })
  }
}

const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.message
