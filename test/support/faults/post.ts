import { request } from 'node:http'
import type { Agent } from 'node:http'
import type { Delivery } from '../../../src/model/delivery.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: { readonly status?: string; readonly event?: string; readonly error?: string }
}

/** Sends a delivery to a receiver. Rejects when the connection ends without an answer. */
export function post(
  url: string,
  delivery: Delivery,
  { source = 'partner', agent }: { readonly source?: string; readonly agent?: Agent } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sending = request(
      `${url}/in/${source}`,
      {
        method: 'POST',
        headers: { ...delivery.headers, 'content-length': delivery.body.byteLength },
        agent: agent ?? false,
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: (text === '' ? {} : JSON.parse(text)) as Answer['body'],
          })
        })
      },
    )
    sending.on('error', reject)
    sending.end(delivery.body)
  })
}
