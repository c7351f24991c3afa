import { describe, expect, test } from 'vitest'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

/** Each recipe of the page, and how its gateway signs: by Node's crypto, and none of our code. */
const RECIPES: readonly Recipe[] = [
  {
    name: 'orders',
    headers: "{ 'x-hookdeck-signature': digest(secret, body, 'base64') }",
    key: 'evt_1',
    sameBytes: 'run',
  },
  {
    name: 'readings',
    headers:
      "{ 'x-hookdeck-signature': digest(secret, body, 'base64'), 'x-hookdeck-eventid': 'gateway_1' }",
    key: 'gateway_1',
    sameBytes: 'quarantine',
  },
  {
    name: 'partner',
    headers: `{
      'svix-id': 'gateway_1',
      'svix-timestamp': time,
      'svix-signature': 'v1,' + digest(Buffer.from(secret.slice(6), 'base64'), 'gateway_1.' + time + '.' + body, 'base64'),
    }`,
    key: 'gateway_1',
    sameBytes: 'run',
  },
  {
    name: 'shop',
    headers: `{
      'webhook-signature': 't=' + time + ',v1=' + digest(secret, time + '.' + body, 'hex'),
      'x-webhook-id': 'gateway_1',
    }`,
    key: 'evt_1',
    sameBytes: 'quarantine',
  },
  {
    name: 'internal',
    headers: `{
      'x-gateway-id': 'gateway_1',
      'x-gateway-time': time,
      'x-gateway-event': 'order.paid',
      'x-gateway-signature': digest(secret, time + '.gateway_1.' + body, 'hex'),
    }`,
    key: 'gateway_1',
    sameBytes: 'run',
  },
]

interface Recipe {
  /** What its block exports. */
  readonly name: string
  readonly headers: string
  readonly key: string
  readonly sameBytes: string
}

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const ENV = Object.fromEntries(
  ['HOOKDECK_SIGNING', 'SVIX_ENDPOINT', 'GETHOOK_SIGNING', 'GATEWAY'].map((name) => [
    `${name}_SECRET`,
    SECRET,
  ]),
)

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/gateways.md')))

describe('the recipes for gateways', () => {
  test('are all of the page', () => {
    const names = blocks.map(({ code }) => /export const (\w+)/.exec(code)?.[1])

    expect(names).toEqual(RECIPES.map(({ name }) => name))
  })

  test.each(RECIPES)('$name believes what its gateway signs, and knows its key', async (recipe) => {
    const block = blocks.find(({ code }) => code.includes(`export const ${recipe.name} `))

    const ran = await runSnippet({ code: `${block?.code ?? ''}\n${trial(recipe)}` }, ENV)

    expect(ran).toEqual({ code: 0, stderr: '' })
  })
})

/** Runs after the recipe: the signed request, the same with a byte changed, and the key. */
function trial({ name, headers, key, sameBytes }: Recipe): string {
  return `
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
const secret = '${SECRET}'
const body = '{"id":"evt_1","type":"order.paid","n":1}'
const receivedAt = new Date(1_760_000_000_000)
const time = '1760000000'
const digest = (key, text, encoding) => createHmac('sha256', key).update(text).digest(encoding)
const delivery = { method: 'POST', url: '/', headers: ${headers}, body: Buffer.from(body), receivedAt }
assert.equal((await ${name}.verify(delivery)).ok, true)
assert.equal((await ${name}.verify({ ...delivery, body: Buffer.from(body + ' ') })).ok, false)
assert.equal(${name}.identify(delivery)[0].key, '${key}')
assert.equal(${name}.sameBytes, '${sameBytes}')
`
}
