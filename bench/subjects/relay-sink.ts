import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { hear, runSubject, say } from './subject.ts'

/** Takes messages, and counts them by their keys; `GET` says how many there were. */
runSubject(async () => {
  const counts = new Map<string, number>()
  const server = http.createServer((request, response) => {
    if (request.method === 'GET') {
      const requests = [...counts.values()].reduce((sum, count) => sum + count, 0)
      response.end(JSON.stringify({ keys: counts.size, requests }))
      return
    }
    request.resume()
    request.on('end', () => {
      const key = String(request.headers['idempotency-key'])
      counts.set(key, (counts.get(key) ?? 0) + 1)
      response.end('ok')
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  say({ kind: 'listening', port: (server.address() as AddressInfo).port })
  await hear('stop')
  server.closeAllConnections()
  server.close()
})
