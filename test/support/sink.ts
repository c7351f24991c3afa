/**
 * The outside world, for messages and for calls: a receiver with a log that survives its caller, since every
 * request is on disk before it is answered. It can honour keys, forget them, ignore them, store a failure
 * under one for ever, hang, cut the connection, and lie about what it did.
 *
 * @module
 */

import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface SinkRequest {
  readonly key: string
  readonly webhookId: string
  readonly body: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  /** The how many-th request with this key it is, from 1. */
  readonly nth: number
  /** Whether this request had an effect, rather than being known by its key. */
  readonly hadEffect: boolean
}

/** What a request is answered, once it is in the log. `hang`: nothing, ever. */
export type SinkAnswer =
  | 'hang'
  | 'cut'
  | { readonly status: number; readonly headers?: http.OutgoingHttpHeaders; readonly body?: string }

export interface SinkOptions {
  /** Whether an effect happens once for each key, or for each request. */
  readonly keys?: 'honoured' | 'ignored'
  /** How long a key that is honoured is remembered; for ever where left out. */
  readonly keyLifetimeMs?: number
  /** Whether it does what it is asked to; it does where left out. What it answers is another matter. */
  readonly does?: (request: Pick<SinkRequest, 'key' | 'nth'>) => boolean
  /** Whether the first answer to a key is the answer to that key for ever, as with some APIs. */
  readonly storesAnswers?: boolean
  /** Left out, every request is on disk before it is answered. */
  readonly isSynced?: boolean
  /** What is answered; the effect has happened by then. */
  readonly answer?: (request: SinkRequest, count: number) => SinkAnswer | Promise<SinkAnswer>
}

export interface Sink {
  readonly url: string
  readonly port: number
  /** All requests, from the log on disk. */
  list(): readonly SinkRequest[]
  /** How many effects each key had. */
  countEffects(): ReadonlyMap<string, number>
  /** Bodies that came with more than one key, and keys that came with more than one body. */
  listMixedKeys(): readonly string[]
  forgetKeys(): void
  answerWith(answer: SinkOptions['answer']): void
  untilRequests(count: number): Promise<void>
  close(): Promise<void>
}

const OK: SinkAnswer = { status: 200, body: 'ok' }

/** The first request of each key hangs, is cut, or is told the opposite of the truth; later ones are answered. */
export function atFirst(answer: SinkAnswer): NonNullable<SinkOptions['answer']> {
  return ({ nth }) => (nth === 1 ? answer : OK)
}

export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-sink-'))
  const file = join(folder, 'requests.jsonl')
  const log = openSync(file, 'a')
  /** When each key was first seen. */
  const known = new Map<string, number>()
  const counts = new Map<string, number>()
  const stored = new Map<string, SinkAnswer | Promise<SinkAnswer>>()
  const listeners = new Set<() => void>()
  let answer = options.answer ?? (() => OK)
  let count = 0

  const takesEffect = ({ key, nth }: { key: string; nth: number }): boolean => {
    if (options.does?.({ key, nth }) === false) return false
    const now = performance.now()
    const seenAt = known.get(key)
    const isKnown = seenAt !== undefined && now - seenAt < (options.keyLifetimeMs ?? Infinity)
    if (!isKnown) known.set(key, now)
    return options.keys === 'ignored' || !isKnown
  }

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const key = request.headersDistinct['idempotency-key']?.join(' and ') ?? 'none'
      const nth = (counts.get(key) ?? 0) + 1
      counts.set(key, nth)
      const hadEffect = takesEffect({ key, nth })
      const one: SinkRequest = {
        key,
        webhookId: String(request.headers['webhook-id']),
        body: Buffer.concat(chunks).toString(),
        path: request.url ?? '',
        headers: request.headers,
        nth,
        hadEffect,
      }
      writeSync(log, `${JSON.stringify(one)}\n`)
      if (options.isSynced !== false) fsyncSync(log)
      count += 1
      for (const listener of [...listeners]) listener()
      const first = options.storesAnswers === true ? stored.get(key) : undefined
      const given = first ?? answer(one, count)
      stored.set(key, given)
      void Promise.resolve(given).then((said) => {
        if (said === 'hang') return
        if (said === 'cut') return request.socket.destroy()
        response.writeHead(said.status, said.headers).end(said.body ?? '')
      })
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const list = (): readonly SinkRequest[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as SinkRequest)
  const sink: Sink = {
    url: `http://127.0.0.1:${port}/hooks`,
    port,
    list,
    countEffects: () => {
      const effects = new Map<string, number>()
      for (const { key, hadEffect } of list())
        effects.set(key, (effects.get(key) ?? 0) + (hadEffect ? 1 : 0))
      return effects
    },
    listMixedKeys: () => {
      const pairs = new Set(list().map(({ body, key }) => JSON.stringify([body, key])))
      const seen = new Map<string, number>()
      for (const pair of pairs)
        for (const part of JSON.parse(pair) as string[]) seen.set(part, (seen.get(part) ?? 0) + 1)
      return [...seen].filter(([, times]) => times > 1).map(([part]) => part)
    },
    forgetKeys: () => known.clear(),
    answerWith: (other) => {
      answer = other ?? (() => OK)
    },
    untilRequests: (wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (count < wanted) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      }),
    close: async () => {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      closeSync(log)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  onTestFinished(() => sink.close())
  return sink
}
