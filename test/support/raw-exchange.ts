import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface RawSender {
  readonly socket: Socket
  write(bytes: string | Uint8Array): void
  /** Everything that was answered, once the other side has closed. */
  readonly closed: Promise<string>
  /** Resolves with what was answered so far when it holds the given text. */
  answered(text: string): Promise<string>
}

/** Speaks to a port in bytes, as no well-behaved client would. A reset is an end like any other. */
export async function rawSender(port: number): Promise<RawSender> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let answer = ''
  const watchers = new Set<() => void>()
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    answer += chunk
    for (const watch of watchers) watch()
  })
  socket.on('error', () => undefined)
  socket.on('end', () => socket.end())
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(answer)))
  await once(socket, 'connect')

  return {
    socket,
    closed,
    write: (bytes) => void socket.write(bytes),
    answered: (text) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (!answer.includes(text)) return
          watchers.delete(watch)
          resolve(answer)
        }
        watchers.add(watch)
        watch()
      }),
  }
}

/** Sends bytes and resolves with the whole answer when the other side closes. */
export async function rawExchange(port: number, bytes: string | Uint8Array): Promise<string> {
  const sender = await rawSender(port)
  sender.write(bytes)
  return sender.closed
}

/** The status codes in an answer, interim ones included. */
export function statuses(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
}
