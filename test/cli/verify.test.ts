import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/index.ts'
import { sign } from '../../src/testing/index.ts'
import { aFolder, runCommand } from '../support/run-command.ts'

const SECRET = 'whsec_0123456789abcdef'
const PROVIDERS = ['stripe', 'slack', 'zoom'] as const
type Name = (typeof PROVIDERS)[number]

describe.each(PROVIDERS)('hookonce verify, for %s', (provider) => {
  test('says that a signature holds', async () => {
    const { code, output } = await verify(provider, aDelivery(provider))

    expect(output).toBe('ok  The signature holds, by secret 1.')
    expect(code).toBe(0)
  })

  test('names the header that is missing', async () => {
    const { headers, ...delivery } = aDelivery(provider)
    const unsigned = Object.fromEntries(
      Object.entries(headers).filter(([name]) => !name.includes('signature')),
    )

    const { code, output } = await verify(provider, { ...delivery, headers: unsigned })

    expect(code).toBe(1)
    expect(output).toMatch(/^missing-header/)
    expect(output).toMatch(/Not there: .*signature/)
  })

  test('tells a wrong secret from all else', async () => {
    const { code, output } = await verify(provider, aDelivery(provider), `${SECRET}x`)

    expect(code).toBe(1)
    expect(output).toMatch(/^bad-signature/)
    expect(output).toContain('The secret is another one than the sender signs with')
    expect(output).not.toContain('0123456789abcdef')
  })

  test.each([
    [
      'parsed as JSON and written anew',
      (text: string) => JSON.stringify(JSON.parse(text), undefined, 3),
    ],
    ['a line end was added', (text: string) => `${text}\n`],
  ])('sees that the body was changed: %s', async (what, change) => {
    const delivery = aDelivery(provider)
    const body = Buffer.from(change(Buffer.from(delivery.body).toString()))

    const { code, output } = await verify(provider, { ...delivery, body })

    expect(code).toBe(1)
    expect(output).toContain('The body was changed on its way')
    expect(output).toContain(what)
  })

  test('sees that the secret has a line end', async () => {
    const { code, output } = await verify(provider, aDelivery(provider), `${SECRET}\n`)

    expect(code).toBe(1)
    expect(output).toContain('a blank or a line end around it')
    expect(output).not.toContain('0123456789abcdef')
  })

  test('says how old it is', async () => {
    const delivery = aDelivery(provider, new Date(Date.now() - 3 * 86_400_000 - 60_000))

    const { code, output } = await verify(provider, delivery)
    const json = await verify(provider, delivery, SECRET, ['--json'])

    expect(code).toBe(1)
    expect(output).toMatch(/3 days old/)
    expect(JSON.parse(json.output)).toMatchObject({
      ok: false,
      hints: [expect.any(String), expect.any(String)],
    })
  })
})

test.each<[string, BufferEncoding, BufferEncoding]>([
  ['it was written in Latin-1', 'utf8', 'latin1'],
  ['it was read as Latin-1, and written in UTF-8', 'latin1', 'utf8'],
])('a body in other letters is known as such: %s', async (what, read, written) => {
  const body = Buffer.from('{"id":"evt_1","type":"invoice.paid","name":"Zoë"}')
  const delivery = sign('stripe', { body }, { secret: SECRET })
  const changed = Buffer.from(body.toString(read), written)

  const { code, output } = await verify('stripe', { ...delivery, body: changed })

  expect(code).toBe(1)
  expect(output).toContain(`The body was changed on its way: ${what}.`)
})

test('a body that is not there, or not whole, is known as such', async () => {
  const delivery = aDelivery('stripe')
  const length = String(delivery.body.byteLength)
  const headers = { ...delivery.headers, 'content-length': length }

  const empty = await verify('stripe', { ...delivery, body: Buffer.alloc(0) })
  const cut = await verify('stripe', { ...delivery, headers, body: delivery.body.subarray(0, 50) })

  expect([empty.code, cut.code]).toEqual([1, 1])
  expect(empty.output).toContain('The body is empty: has something read it before')
  expect(cut.output).toContain(`says that it has ${length} bytes, and there are 50: it was cut`)
})

test('a key of an API is known as such', async () => {
  const { output } = await verify('stripe', aDelivery('stripe'), 'sk_live_0123456789abcdef')

  expect(output).toContain("a key of Stripe's API")
})

test('a delivery to the wrong URL is known by the secret of the other source', async () => {
  const folder = aFolder()
  const sources = {
    shop: { provider: 'stripe', secrets: ['whsec_fedcba9876543210'] },
    billing: { provider: 'stripe', secrets: [SECRET] },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))
  writeRequest(folder, aDelivery('stripe'))

  const { output } = await runCommand(
    ['verify', '--source', 'shop', '--request', 'delivery.http'],
    { folder },
  )

  expect(output).toContain('the secret of the source "billing"')
})

test('a secret that is said counts in place of those of the source, and so does an option', async () => {
  const folder = aFolder()
  const sources = {
    shop: { provider: 'stripe', secrets: ['whsec_fedcba9876543210'], toleranceSeconds: 60 },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))
  writeRequest(folder, aDelivery('stripe'))
  const run = (...words: string[]) =>
    runCommand(['verify', '--source', 'shop', '--request', 'delivery.http', ...words], {
      folder,
      environment: { NEXT: SECRET },
    })

  const before = await run()
  const next = await run('--secret', 'env:NEXT')
  const both = await run('--secret', 'whsec_fedcba9876543210', '--secret', 'env:NEXT')
  const short = await run('--secret', 'short')
  const option = await run('--secret', 'env:NEXT', '--option', 'nosuch=1')

  expect([before.code, next.code, both.code]).toEqual([1, 0, 0])
  expect(before.output).toMatch(/^bad-signature/)
  expect(both.output).toContain('by secret 2')
  expect([short.code, option.code]).toEqual([2, 2])
  expect(short.errors).toContain('--source: secrets[0] is shorter than 16 bytes')
  expect(option.errors).toContain('nosuch')
})

test('headers and body may be two files, and it must be said whose they are', async () => {
  const folder = aFolder()
  const { headers, body } = aDelivery('stripe')
  writeFileSync(join(folder, 'head.txt'), listHeaders(headers).join('\r\n'))
  writeFileSync(join(folder, 'body.json'), body)
  const files = ['--headers', 'head.txt', '--body', 'body.json']
  const whose = ['--provider', 'stripe', '--secret', 'env:SECRET']
  const terms = { folder, environment: { SECRET } }

  expect(await runCommand(['verify', ...whose, ...files], terms)).toMatchObject({ code: 0 })
  expect(await runCommand(['verify', ...files], terms)).toMatchObject({ code: 2 })
  expect(await runCommand(['verify', ...whose], terms)).toMatchObject({ code: 2 })
  const missing = await runCommand(['verify', ...whose, '--request', 'none.http'], terms)
  expect(missing.code).toBe(2)
  expect(missing.errors).toContain('--request: the file none.http cannot be read: ENOENT')
})

test('what a request says does not steer the terminal', async () => {
  const { headers, ...delivery } = aDelivery('stripe')
  const body = Buffer.from('{"note":"\u001b[2J"}')

  const { output, errors } = await verify('stripe', {
    ...delivery,
    headers: { ...headers, 'x-sign-\u001b[2J': 'x', 'stripe-signature': '\u001b[2J' },
    body,
  })

  expect(`${output}${errors}`).not.toContain('\u001b')
})

function aDelivery(provider: Name, at = new Date()): Delivery {
  return sign(provider, { at }, { secret: SECRET })
}

function listHeaders(headers: Delivery['headers']): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)
}

function writeRequest(folder: string, { method, url, headers, body }: Delivery): void {
  const head = [`${method} ${url} HTTP/1.1`, ...listHeaders(headers), '', ''].join('\n')
  writeFileSync(join(folder, 'delivery.http'), Buffer.concat([Buffer.from(head), body]))
}

async function verify(
  provider: Name,
  delivery: Delivery,
  secret = SECRET,
  more: readonly string[] = [],
) {
  const folder = aFolder()
  writeRequest(folder, delivery)
  const whose = ['--provider', provider, '--secret', secret]
  return runCommand(['verify', ...whose, '--request', 'delivery.http', ...more], { folder })
}
