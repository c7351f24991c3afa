import type { ServerResponse } from 'node:http'

/** What a route has answered. */
export interface RouteAnswer {
  readonly status: number
  readonly type: string | undefined
  /** `undefined` when it is no text. */
  readonly body: string | undefined
}

/**
 * Holds a response back between the route's `end` and the mark: a sender that reads a 2xx may count on
 * the mark, and one that reads none will come again.
 *
 * Node sends nothing before the first `write`, `end` or `flushHeaders`, so those three are all it takes.
 */
export class HeldResponse {
  /** Resolves when the route has ended the response. */
  readonly ended: Promise<RouteAnswer>
  readonly #response: ServerResponse
  readonly #calls: (() => void)[] = []
  readonly #chunks: Buffer[] = []

  constructor(response: ServerResponse) {
    this.#response = response
    this.ended = new Promise((resolve) => {
      const hold = (name: 'write' | 'end' | 'flushHeaders', onCall: (args: unknown[]) => void) => {
        response[name] = ((...args: unknown[]) => {
          onCall(args)
          this.#calls.push(() => void (response[name] as (...a: unknown[]) => unknown)(...args))
          return name === 'write' ? true : response
        }) as never
      }
      hold('flushHeaders', () => undefined)
      hold('write', (args) => this.#keep(args))
      hold('end', (args) => {
        this.#keep(args)
        resolve(this.#read())
      })
    })
  }

  /** Sends what was held, and holds no more. */
  send(): void {
    const own = this.#response as unknown as Record<string, unknown>
    delete own['write']
    delete own['end']
    delete own['flushHeaders']
    for (const call of this.#calls.splice(0)) call()
  }

  #keep([chunk, encoding]: readonly unknown[]): void {
    if (typeof chunk === 'string') {
      const named = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'
      this.#chunks.push(Buffer.from(chunk, named))
    } else if (chunk instanceof Uint8Array) this.#chunks.push(Buffer.from(chunk))
  }

  #read(): RouteAnswer {
    const type = this.#response.getHeader('content-type')
    return {
      status: this.#response.statusCode,
      type: typeof type === 'string' ? type : undefined,
      body: decode(Buffer.concat(this.#chunks)),
    }
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
