import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ApiRequest {
  readonly url: URL
  readonly headers: http.IncomingHttpHeaders
}

export interface ApiResponse {
  readonly status?: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string
}

/** A server that answers as the test says, for as long as it runs; with all requests it has had. */
export async function startApi(
  answer: (request: ApiRequest, count: number) => ApiResponse | 'cut',
): Promise<{ readonly baseUrl: string; readonly requests: readonly ApiRequest[] }> {
  const requests: ApiRequest[] = []
  const server = http.createServer((incoming, outgoing) => {
    const request = {
      url: new URL(incoming.url ?? '/', 'http://api.invalid'),
      headers: incoming.headers,
    }
    requests.push(request)
    const given = answer(request, requests.length)
    if (given === 'cut') return void incoming.socket.destroy()
    outgoing.writeHead(given.status ?? 200, given.headers).end(given.body ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, requests }
}
