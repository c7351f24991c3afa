import http from 'node:http'
import https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { createCheckedAgents } from './checked-agent.ts'
import type { CreateHttpClient } from './http-client.ts'

/** Node's own client, which needs no package. */
export const nodeClient: CreateHttpClient = (check) => {
  const agents = createCheckedAgents(check, { keepAlive: true })
  return {
    send: ({ url, method, headers, body }, listener) => {
      const isSecure = url.protocol === 'https:'
      const agent = isSecure ? agents.https : agents.http
      const connected = isSecure ? 'secureConnect' : 'connect'
      const outgoing = (isSecure ? https : http).request(url, { method, headers, agent })
      outgoing.on('socket', (socket) => {
        // Over TLS nothing of a request is written before the certificate has been checked. A connection that is
        // used again is there already. One that is neither being made nor there has failed before we could listen.
        const isThere = isSecure ? (socket as TLSSocket).authorized : !socket.connecting
        if (!isThere) socket.once(connected, () => listener.onConnected())
        else if (!socket.destroyed) listener.onConnected()
      })
      outgoing.on('error', (error) => listener.onError(error))
      outgoing.on('response', (response) => {
        listener.onHead(response.statusCode ?? 0, response.headers)
        response.on('data', (chunk: Buffer) => listener.onData(chunk))
        response.on('end', () => listener.onEnd())
        response.on('error', (error) => listener.onError(error))
      })
      outgoing.end(body)
      return () => void outgoing.destroy()
    },
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}
