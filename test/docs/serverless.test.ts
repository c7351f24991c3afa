/** The services of `docs/guides/serverless.md`, as each platform calls them, on a real PostgreSQL. */

import { expect, test } from 'vitest'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

const blocks = listBlocks(readPage('docs/guides/serverless.md'))
const [service] = assembleSnippets(blocks)
const findBlock = (text: string) => blocks.find(({ code }) => code.includes(text))?.code ?? ''
const INVOICES = ['create table invoices (id text, status text)']
const SECRET = 'whsec_of_the_function_in_the_page'

test.each(['2.0', '1.0'])(
  'what API Gateway hands over as text or in base64, in format %s, is accepted, and run by the next call',
  async (version) => {
    const { url, query } = await startDatabase(INVOICES)
    for (const id of ['evt_text', 'evt_base64'])
      await query("insert into invoices values ($1, 'open')", [id])
    const env = { DATABASE_URL: url, STRIPE_WEBHOOK_SECRET: SECRET, FORMAT: version }

    const code = `${service?.code ?? ''}\n${INVOKE}`
    const run = await runSnippet({ code }, env)
    expect(run, run.stderr).toMatchObject({ code: 0 })

    expect(await query('select id, status from invoices order by id')).toEqual([
      { id: 'evt_base64', status: 'paid' },
      { id: 'evt_text', status: 'paid' },
    ])
  },
)

/** As API Gateway calls the function, with a body in which a byte that was read as text is another one. */
const INVOKE = `
import { deepEqual, equal } from 'node:assert/strict'
import { sign } from 'hookonce/testing'

const given = (id) => {
  const body = { id, object: 'event', type: 'invoice.paid', data: { object: { name: 'Zoë €' } } }
  return sign('stripe', { type: 'invoice.paid', key: id, body }, { secret: process.env.STRIPE_WEBHOOK_SECRET })
}
const domainName = 'abc.execute-api.eu-west-1.amazonaws.com'
const listsOf = (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()]))
const inFormat = {
  '2.0': (method, headers, body) => ({
    version: '2.0',
    routeKey: '$default',
    rawPath: '/webhooks/stripe',
    rawQueryString: 'stage=prod&a=%20b',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(',')])),
    requestContext: { domainName, http: { method, path: '/webhooks/stripe' } },
    ...(body === null ? {} : { body }),
  }),
  '1.0': (method, headers, body) => ({
    resource: '/webhooks/stripe',
    path: '/webhooks/stripe',
    httpMethod: method,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().at(-1)])),
    multiValueHeaders: listsOf(headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    requestContext: { domainName, httpMethod: method, path: '/prod/webhooks/stripe' },
    body,
  }),
}[process.env.FORMAT]
const gatewayEvent = ({ headers, body }, encoding) => ({
  ...inFormat('POST', headers, Buffer.from(body).toString(encoding)),
  isBase64Encoded: encoding === 'base64',
})
const invoke = async (event) => {
  const { statusCode, headers, body } = await handler(event)
  equal(typeof body, 'string')
  return [statusCode, headers['content-type'].split(';')[0], JSON.parse(body).status]
}
const accepted = [200, 'application/json', 'accepted']

const text = given('evt_text')
deepEqual(await invoke(gatewayEvent(text, 'utf8')), accepted)
const binary = given('evt_base64')
deepEqual(await invoke(gatewayEvent(binary, 'base64')), accepted)
deepEqual(await invoke(gatewayEvent(binary, 'base64')), [200, 'application/json', 'duplicate'])
// It is the flag that says what the body is.
equal((await handler({ ...gatewayEvent(given('evt_3'), 'base64'), isBase64Encoded: false })).statusCode, 401)
const { body: _left, ...bodiless } = gatewayEvent(given('evt_3'), 'utf8')
equal((await handler(process.env.FORMAT === '2.0' ? bodiless : { ...bodiless, body: null })).statusCode, 401)
// A signature that comes twice is none, also where a list has both.
const signature = text.headers['stripe-signature'] ?? text.headers['Stripe-Signature']
const twice = { ...text, headers: { ...text.headers, 'stripe-signature': [signature, 't=1,v1=00'] } }
equal([400, 401].includes((await handler(gatewayEvent(twice, 'utf8'))).statusCode), true)
// A browser or a health check.
for (const method of ['GET', 'HEAD', 'PUT'])
  equal((await handler({ ...inFormat(method, { accept: '*/*' }, null), isBase64Encoded: false })).statusCode, 405)
if (process.env.FORMAT === '1.0')
  equal((await handler({ ...inFormat('GET', {}, null), multiValueHeaders: null, isBase64Encoded: false })).statusCode, 405)

const context = { getRemainingTimeInMillis: () => 60_000 }
deepEqual(await runScheduled({}, context), { done: 2, failed: 0, hasMore: false })
const logged = []
console.log = (...words) => logged.push(words.join(' '))
await runWebhooks()
await runWebhooks()
deepEqual(logged.map((line) => line.trim()), ['0 done 0 failed', '0 done 0 failed'])
await inbox.stop()
await pool.end()
`

test('the route of the cron job runs what is due for a caller that knows the secret', async () => {
  const { url, query } = await startDatabase([
    ...INVOICES,
    "insert into invoices values ('evt_1', 'open')",
  ])
  const env = { DATABASE_URL: url, STRIPE_WEBHOOK_SECRET: SECRET, CRON_SECRET: '' }
  const route = findBlock('function isFromCron').replace(/^import \{ getInbox \}.*$/m, '')

  const code = [findBlock('// lib/inbox.ts'), route, CALL_CRON].join('\n')
  const run = await runSnippet({ code }, env)
  expect(run, run.stderr).toMatchObject({ code: 0 })

  expect(await query('select id, status from invoices')).toEqual([{ id: 'evt_1', status: 'paid' }])
})

test('the cron job of vercel.json calls that route', () => {
  const { crons } = JSON.parse(findBlock('"crons"')) as { crons: readonly { path: string }[] }

  const [, path] = /^\/\/ app(\/.*)\/route\.ts$/m.exec(findBlock('function isFromCron')) ?? []
  expect(crons.map((cron) => cron.path)).toEqual([path])
})

const CALL_CRON = `
import { deepEqual, equal } from 'node:assert/strict'
import { sign } from 'hookonce/testing'

const given = sign('stripe', { type: 'invoice.paid', key: 'evt_1' }, { secret: process.env.STRIPE_WEBHOOK_SECRET })
equal(getInbox(), getInbox())
const init = { method: 'POST', headers: given.headers, body: given.body }
equal((await getInbox().fetch('stripe')(new Request('https://app.example/webhooks/stripe', init))).status, 200)

const call = async (authorization) => {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await GET(new Request('https://app.example/api/cron', { headers }))
  return response.status === 200 ? response.json() : response.status
}
// Without a secret nothing is right, whatever an empty one would match.
for (const none of [undefined, '', 'Bearer ', 'Bearer undefined']) equal(await call(none), 401)
process.env.CRON_SECRET = 'secret_of_the_cron_job'
for (const wrong of [undefined, '', 'Bearer ', 'Bearer secret_of_the_cron_joc', 'secret_of_the_cron_job'])
  equal(await call(wrong), 401)
const right = 'Bearer secret_of_the_cron_job'
deepEqual(await call(right), { done: 1, failed: 0, hasMore: false })
deepEqual(await call(right), { done: 0, failed: 0, hasMore: false })
await getInbox().stop()
process.exit(0)
`

test('a Worker takes a delivery in, and runs it after its answer or by its trigger', async () => {
  const { url, query } = await startDatabase(INVOICES)
  for (const id of ['evt_1', 'evt_2']) await query("insert into invoices values ($1, 'open')", [id])
  const worker = findBlock('HYPERDRIVE').replace('export default {', 'const worker = {')

  const code = `${worker}\n${CALL_WORKER}`
  const run = await runSnippet({ code }, { CONNECTION: url, SECRET })
  expect(run, run.stderr).toMatchObject({ code: 0 })

  expect(await query('select id, status from invoices order by id')).toEqual([
    { id: 'evt_1', status: 'paid' },
    { id: 'evt_2', status: 'paid' },
  ])
})

/** As the runtime calls it, which waits for what it was handed. */
const CALL_WORKER = `
import { equal } from 'node:assert/strict'
import { sign } from 'hookonce/testing'

const env = { HYPERDRIVE: { connectionString: process.env.CONNECTION }, STRIPE_WEBHOOK_SECRET: process.env.SECRET }
const give = (key) => sign('stripe', { type: 'invoice.paid', key }, { secret: process.env.SECRET })
const first = give('evt_1')
const call = async ({ headers, body }, waitUntil) => {
  const request = new Request('https://worker.example/', { method: 'POST', headers, body })
  const response = await worker.fetch(request, env, { waitUntil })
  equal(response.status, 200)
  return (await response.json()).status
}
const tasks = []
const keep = (task) => void tasks.push(task)
equal(await call(first, keep), 'accepted')
await Promise.all(tasks)
equal(await call(first, keep), 'duplicate')
equal(await call(give('evt_2'), keep), 'accepted')
await worker.scheduled({}, env, { waitUntil: keep })
await Promise.all(tasks)
`
