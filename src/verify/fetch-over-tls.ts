import http from 'node:http'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { TEXT_BYTES_MAX } from './fetch-text.ts'
import type { TextFetcher } from './fetch-text.ts'

/**
 * A GET of a small text over TLS, and nothing else: what certificates and keys of senders are fetched with.
 *
 * Not the built-in `fetch`, for two reasons. That one checks no certificate where the environment has
 * `NODE_TLS_REJECT_UNAUTHORIZED=0`, and a host that an attacker can impersonate serves a key that the attacker
 * may have made. And it has read an answer to its end before its length can be seen.
 *
 * A redirect is not followed and is no success, so that nothing leads away from the host. Plain HTTP is for the
 * certificates of authorities, which are published there and count only if they have signed: whether an address
 * may be plain is for the caller to say, which has pinned it.
 */
export const fetchOverTls: TextFetcher = (url, { signal }) =>
  new Promise((resolve, reject) => {
    const { get } = url.startsWith('http:') ? http : https
    const request = get(url, {
      signal,
      rejectUnauthorized: true,
      // The agent of the process has options of its own, which would count before these.
      agent: false,
      headers: { 'accept-encoding': 'identity' },
    })
    request.on('error', reject)
    request.on('response', (response: IncomingMessage) => {
      const { statusCode = 0 } = response
      const isSuccess = statusCode >= 200 && statusCode < 300
      if (!isSuccess) request.destroy()
      const answer = isSuccess ? readAll(response) : Promise.resolve(Buffer.alloc(0))
      answer.then((bytes) => resolve(createAnswer(isSuccess, bytes)), reject)
    })
  })

function createAnswer(ok: boolean, bytes: Buffer): Awaited<ReturnType<TextFetcher>> {
  return {
    ok,
    text: async () => bytes.toString('utf8'),
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
  }
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    // Leaving the loop closes the connection.
    if (size > TEXT_BYTES_MAX) throw new Error('The host answered with too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
