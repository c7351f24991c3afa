import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllowList } from '../../src/egress/allow-list.ts'
import { createConnectionCheck } from '../../src/egress/connection-check.ts'
import type { ResolveAll } from '../../src/egress/connection-check.ts'
import type { HttpClient } from '../../src/egress/http-client.ts'
import { undiciClient } from '../../src/gateway/undici-client.ts'

const HERE = '127.0.0.1'

test('a request that is given up before it has a connection is not sent on it', async () => {
  const { port, requests } = await aServer()
  let isAsked: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  let answer: () => void = () => undefined
  const client = aClient((_name, _options, done) => {
    answer = () => done(null, [{ address: HERE, family: 4 }])
    isAsked()
  })

  const first = send(client, `http://hooks.example.org:${port}/first`)
  await asked
  first.giveUp()
  answer()
  await expect(first.body).rejects.toThrow('given up')
  const second = await send(client, `http://${HERE}:${port}/second`).body

  expect(second).toBe('/second')
  expect(requests).toEqual(['/second'])
})

test('of headers that came twice, cookies are a list and the others one text', async () => {
  const { port } = await aServer()
  const { head } = send(aClient(), `http://${HERE}:${port}/twice`)

  expect(await head).toMatchObject({
    'retry-after': '1',
    'set-cookie': ['a=1', 'b=2'],
    'x-one': '1, 2',
  })
})

test('what only announces an answer is none', async () => {
  const { port } = await aServer()
  const { head, body } = send(aClient(), `http://${HERE}:${port}/early`)

  expect(await head).toMatchObject({ 'x-final': 'yes' })
  expect(await body).toBe('/early')
})

test('a client that was closed can be used again', async () => {
  const { port } = await aServer()
  const client = aClient()
  await send(client, `http://${HERE}:${port}/first`).body

  client.close()

  expect(await send(client, `http://${HERE}:${port}/second`).body).toBe('/second')
})

async function aServer() {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const { url = '' } = request
    requests.push(url)
    if (url === '/twice') {
      response.setHeader('retry-after', ['1', '2']).setHeader('x-one', ['1', '2'])
      response.setHeader('set-cookie', ['a=1', 'b=2'])
    }
    if (url === '/early') response.writeEarlyHints({ link: '</a.css>; rel=preload' })
    response.setHeader('x-final', 'yes').end(url)
  })
  server.listen(0, HERE)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, requests }
}

function aClient(resolve?: ResolveAll): HttpClient {
  const allowed = parseAllowList('egress.allow', [HERE])
  const client = undiciClient(createConnectionCheck({ allowed, ...(resolve && { resolve }) }))
  onTestFinished(() => client.close())
  return client
}

function send(client: HttpClient, url: string) {
  const request = { url: new URL(url), method: 'POST', headers: {}, body: Buffer.from('x') }
  let giveUp: () => void = () => undefined
  let onHead: (headers: object) => void = () => undefined
  const head = new Promise<object>((resolve) => (onHead = resolve))
  const body = new Promise<string>((resolve, reject) => {
    let text = ''
    giveUp = client.send(request, {
      onConnected: () => undefined,
      onHead: (_status, headers) => onHead(headers),
      onData: (chunk) => (text += Buffer.from(chunk).toString()),
      onEnd: () => resolve(text),
      onError: reject,
    })
  })
  return { giveUp, head, body }
}
