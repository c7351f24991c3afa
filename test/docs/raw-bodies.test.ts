/**
 * The services of `docs/guides/raw-bodies.md`, run: a body that another JSON would be written for arrives as it was signed,
 * comes again as a duplicate, and is refused once a byte of it is another. Those of Next.js are run by `npm run test:bundlers`.
 */

import { expect, test } from 'vitest'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/raw-bodies.md')))

interface Service {
  /** A text that only its block has. */
  readonly has: string
  /** How a request reaches it: by its server, unless the platform calls a function. */
  readonly reach?: string
  readonly path?: string
  /** Code between the block and the requests. */
  readonly then?: string
}

const SERVICES: Readonly<Record<string, Service>> = {
  Node: { has: 'createServer((request, response)' },
  'a receiver': { has: 'createReceiver(inbox)', path: '/in/stripe' },
  Express: { has: 'for the routes below' },
  'Express with a parser in front that keeps the bytes': {
    has: 'verify: (request, _response, buffer)',
    then: `
      import { createInbox } from 'hookonce'
      import { expressHandler } from 'hookonce/express'
      import { stripe } from 'hookonce/providers'
      import { sqliteStore } from 'hookonce/sqlite'
      const secrets = [process.env.STRIPE_WEBHOOK_SECRET]
      const inbox = createInbox({ store: sqliteStore('hooks.db'), sources: { stripe: stripe({ secrets }) } })
      app.post('/webhooks/stripe', expressHandler(inbox, 'stripe'))
      app.listen(3000)`,
  },
  Fastify: { has: 'fastifyPlugin(inbox' },
  Hono: { has: 'honoHandler(inbox', reach: 'served.fetch(request)' },
  NestJS: { has: 'nestHandler(inbox' },
  SvelteKit: { has: '+server.ts', reach: 'POST({ request })' },
  'Workers, Bun and Deno': { has: 'fetch(request: Request)', reach: 'served.fetch(request)' },
}

test.each(Object.entries(SERVICES))(
  '%s gets the bytes that were signed',
  async (_name, service) => {
    const { has, path = '/webhooks/stripe', reach = 'fetch(request)', then = '' } = service
    const found = blocks.filter(({ code }) => code.includes(has))
    expect(found).toHaveLength(1)
    const block = found[0]?.code.replace('export default ', 'const served = ')
    const env = { STRIPE_WEBHOOK_SECRET: 'whsec_of_the_service_in_the_page', PATH_OF: path }
    const reached = `const reach = (request) => ${reach}`

    const port = reach.startsWith('fetch') ? 'await listening' : '80'
    const code = [LISTEN, block, then, reached, `const port = ${port}`, CALL].join('\n')
    const run = await runSnippet({ code }, env)

    expect(run, run.stderr).toMatchObject({ code: 0 })
  },
)

test('no service of the page is left out', () => {
  const served = blocks.filter(({ code }) =>
    /\.(?:node|fetch)\(|(?:Handler|Plugin|Receiver)\(/.test(code),
  )

  const known = Object.values(SERVICES).map(({ has }) => has)
  const missing = served.filter(({ code }) => !known.some((has) => code.includes(has)))
  expect(missing.map(({ page, line }) => `${page}:${line}`)).toEqual([])
})

/** Whatever port a block says, it gets one that is free. */
const LISTEN = `
import { Server as ServerOfNode } from 'node:net'
const listenOfNode = ServerOfNode.prototype.listen
const listening = new Promise((resolve) => {
  ServerOfNode.prototype.listen = function (...given) {
    const callback = given.filter((one) => typeof one === 'function')
    this.once('listening', () => resolve(this.address().port))
    return listenOfNode.call(this, { port: 0, host: '127.0.0.1' }, ...callback)
  }
})
`

const CALL = `
import { deepEqual as deepEqualOf } from 'node:assert/strict'
import { sign as signOf } from 'hookonce/testing'

const text = '{ "id": "evt_1", "type": "invoice.paid", "data": { "object": { "amount": 1.0, "name": "Zo\\\\u00eb €" } } }'
const { headers, body } = signOf('stripe', { body: text }, { secret: process.env.STRIPE_WEBHOOK_SECRET })
const send = async (sent) => {
  const init = { method: 'POST', headers, body: sent }
  const response = await reach(new Request(\`http://127.0.0.1:\${port}\${process.env.PATH_OF}\`, init))
  const answer = await response.text()
  return response.ok ? JSON.parse(answer).status : response.status
}
deepEqualOf(Buffer.from(body).toString(), text)
deepEqualOf(await send(body), 'accepted')
deepEqualOf(await send(body), 'duplicate')
deepEqualOf(await send(Buffer.from(text.replace('1.0', '1'))), 401)
process.exit(0)
`
