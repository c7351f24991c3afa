import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'

/** A request, as `exchange` takes it. */
export type Asked = [
  method: string,
  path: string,
  given?: {
    readonly body?: object
    readonly text?: string
    readonly headers?: Readonly<Record<string, string>>
  },
]

export interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly json: Record<string, unknown>
}

/** One request to a listener of this machine. `fetch` sets `Host`, `Origin` and lengths by itself. */
export function exchange(
  url: string,
  ...[method, path, { body, text, headers = {} } = {}]: Asked
): Promise<Answer> {
  const { port } = new URL(url)
  const sent = method === 'GET' ? undefined : (text ?? JSON.stringify(body))
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        headers: { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const whole = Buffer.concat(chunks)
          const isJson = response.headers['content-type']?.includes('json') === true
          resolve({
            status: response.statusCode,
            headers: response.headers,
            body: whole,
            json: (isJson ? JSON.parse(whole.toString()) : {}) as Record<string, unknown>,
          })
        })
      },
    )
    // A body that is refused is not read to its end.
    asked.on('error', (error: Error & { code?: string }) => {
      if (!['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) reject(error)
    })
    asked.end(sent)
  })
}
