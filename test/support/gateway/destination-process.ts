/**
 * A service behind a gateway, as a process that can be killed: it keeps a line for each request, written before the
 * answer, and has an effect only for a `webhook-id` that it has not seen. What it has seen it reads from its own lines.
 *
 *     destination-process.ts <port> <file>          0: any port; prints the one it has
 *
 * @module
 */

import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** What it keeps of a request. */
export interface Arrival {
  readonly webhookId: string
  /** The sender's own id of the event. */
  readonly key: string
  readonly attempt: string
  readonly hadEffect: boolean
}

/** Without a line that a kill has cut off: that request was not answered. */
export function readArrivals(file: string): readonly Arrival[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Arrival]))
}

function serve(port: number, file: string): void {
  const seen = new Set(readArrivals(file).map(({ webhookId }) => webhookId))
  closeSync(openSync(file, 'a'))
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const webhookId = String(request.headers['webhook-id'])
      const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly id: string }
      const arrival: Arrival = {
        webhookId,
        key: id,
        attempt: String(request.headers['hookonce-attempt']),
        hadEffect: !seen.has(webhookId),
      }
      seen.add(webhookId)
      appendFileSync(file, `${JSON.stringify(arrival)}\n`)
      response.end('ok')
    })
    request.on('error', () => undefined)
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
}

const [, , port, file] = process.argv
if (process.argv[1] === import.meta.filename && port !== undefined && file !== undefined)
  serve(Number(port), file)
