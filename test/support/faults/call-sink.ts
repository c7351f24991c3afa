import { once } from 'node:events'
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface Call {
  /** What was called for: `<event>:<step>`. */
  readonly of: string
  readonly key: string
}

export interface CallSink {
  readonly url: string
  /** Every call that arrived, from the file it was written to before it was answered. */
  listCalls(): readonly Call[]
  /** What was called for with more than one key, or, with one key, more than one thing. */
  listMixedKeys(): readonly string[]
}

/** The outside world, for the length of the running test: it writes every call down, and has each key once. */
export async function startCallSink(): Promise<CallSink> {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-sink-'))
  const file = join(dir, 'calls.jsonl')
  const log = openSync(file, 'a')
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const key = request.headersDistinct['idempotency-key']?.join(' and ') ?? 'none'
      writeSync(log, `${JSON.stringify({ of: body, key })}\n`)
      fsyncSync(log)
      response.end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    closeSync(log)
    rmSync(dir, { recursive: true, force: true })
  })
  const listCalls = (): readonly Call[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Call)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    listCalls,
    listMixedKeys: () => {
      const pairs = new Set(listCalls().map(({ of, key }) => `${of} ${key}`))
      const seen = new Map<string, number>()
      for (const pair of pairs)
        for (const part of pair.split(' ')) seen.set(part, (seen.get(part) ?? 0) + 1)
      return [...seen].filter(([, count]) => count > 1).map(([part]) => part)
    },
  }
}
