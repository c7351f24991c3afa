/**
 * A receiver of messages with a log that survives its caller: every request is on disk before it is
 * answered. How it treats keys and what it answers can be switched while it runs.
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
  forgetKeys(): void
  answerWith(answer: SinkOptions['answer']): void
  untilRequests(count: number): Promise<void>
  close(): Promise<void>
}

const OK: SinkAnswer = { status: 200, body: 'ok' }

export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-sink-'))
  const file = join(folder, 'requests.jsonl')
  const log = openSync(file, 'a')
  const known = new Set<string>()
  const listeners = new Set<() => void>()
  let answer = options.answer ?? (() => OK)
  let count = 0

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const key = String(request.headers['idempotency-key'])
      const hadEffect = options.keys === 'ignored' || !known.has(key)
      known.add(key)
      const one: SinkRequest = {
        key,
        webhookId: String(request.headers['webhook-id']),
        body: Buffer.concat(chunks).toString(),
        path: request.url ?? '',
        headers: request.headers,
        hadEffect,
      }
      writeSync(log, `${JSON.stringify(one)}\n`)
      if (options.isSynced !== false) fsyncSync(log)
      count += 1
      for (const listener of [...listeners]) listener()
      void Promise.resolve(answer(one, count)).then((said) => {
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
