import { describe, expect, test } from 'vitest'
import {
  customVerification,
  defineProvider,
  hmacSignature,
  sharedToken,
  standardSignature,
  textAnswer,
} from '../../src/providers/index.ts'
import type { ProviderDefinition, SecretOptions } from '../../src/providers/index.ts'
import { checkProvider } from '../../src/testing/index.ts'
import type { ProviderCase } from '../../src/testing/index.ts'

const SPEC = {
  signature: 'header:x-acme-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  signed: '{body}',
} as const

const VERIFY = hmacSignature(SPEC)

const ACME: ProviderDefinition = {
  provider: 'acme',
  verify: VERIFY,
  key: 'json:$.id',
  type: 'json:$.type',
  retryWindowHours: 24,
}

/** What is found in Acme with something changed in its declaration, its payload or its case. */
async function check(
  changed: Partial<ProviderDefinition> = {},
  { more = {}, ...one }: Partial<ProviderCase> & { more?: object } = {},
) {
  const acme = defineProvider<SecretOptions>({ ...ACME, ...changed })
  const fixture = {
    provider: acme,
    events: {
      'order.paid': ({ key, type }: { key: string; type: string }) => ({
        body: { id: key, type, attempt: 1, ...more },
        headers: { 'x-acme-id': key },
      }),
    },
  }
  const findings = await checkProvider(acme, { fixture, ...one })
  return findings.map(({ problem }) => problem)
}

describe('checkProvider', () => {
  test('finds nothing in a provider that keeps everything', async () => {
    expect(await check()).toEqual([])
  })

  test('finds an unsigned header, until the case says why that is safe', async () => {
    const key = 'header:x-acme-id'
    const uncovered = { headers: { 'x-acme-id': 'the same bytes under it are quarantined' } }

    expect(await check({ key })).toContain(
      'x-acme-id may be changed, and uncovered.headers does not say why that is safe',
    )
    expect(await check({ key }, { uncovered })).toEqual([])
  })

  test('finds a reason that is not needed', async () => {
    const uncovered = { headers: { 'x-acme-signature': 'a mistake' } }

    expect(await check({}, { uncovered })).toContain(
      'x-acme-signature is covered, though uncovered.headers says that it is not',
    )
  })

  test('finds a key that two events share', async () => {
    expect(await check({ key: 'json:$.account' }, { more: { account: 'a' } })).toEqual([
      'two events of the type order.paid have one key',
    ])
  })

  test('finds a type that is not found', async () => {
    expect(await check({ type: 'json:$.kind' })).toEqual(['a order.paid is taken for a unknown'])
  })

  test('finds that a retry is another event, until what changes is said to', async () => {
    const retryOf: ProviderCase['retryOf'] = ({ body }, resign) =>
      resign({ body: Buffer.from(body).toString().replace('"attempt":1', '"attempt":2') })

    expect(await check({}, { retryOf })).toEqual(['the retry of a order.paid is another event'])
    expect(await check({ volatile: ['$.attempt'] }, { retryOf })).toEqual([])
  })

  test('finds a secret that is kept, until it is not stored, and what else the passcode lets in', async () => {
    const verify = sharedToken({ at: 'json:$.passcode' })
    const unstored = ['$.passcode']
    const bodyBytes = {
      why: 'nothing is signed',
      covers: (body: string, at: number) =>
        at < body.indexOf('"passcode":"') + 12 || at > body.length - 3,
    }

    const kept = await check(
      { verify },
      { uncovered: { bodyBytes: { ...bodyBytes, identifies: true } } },
    )
    expect(kept).toEqual(['the secret is in what is stored of a order.paid'])
    const signed = await check({ verify, unstored }, { uncovered: { bodyBytes } })
    expect(signed).toContainEqual(expect.stringMatching(/^request \d+ of seed 1: believed: /))
    const all = { uncovered: { bodyBytes: { ...bodyBytes, identifies: true } } } as const
    expect(await check({ verify, unstored }, all)).toEqual([])
  })

  test('finds bodies that sign alike, until the case says what is signed', async () => {
    const verify = hmacSignature({ ...SPEC, signed: '{json:$.id}' })
    const uncovered = {
      bodyBytes: {
        why: 'only the id is signed',
        covers: (body: string, at: number) => at < 7 || at > body.indexOf('"type"') - 3,
      },
      sameText: {
        why: 'only the id is signed',
        signed: (body: string) => /"id":"([^"]*)"/.exec(body)?.[1] ?? body,
      },
    }
    const { bodyBytes } = uncovered

    expect(await check({ verify }, { uncovered: { bodyBytes } })).toContainEqual(
      expect.stringMatching(/^request \d+ of seed 1: believed: /),
    )
    expect(await check({ verify }, { uncovered })).toEqual([])
  })

  test('takes the events of a retried batch for new ones where the case says so, and only there', async () => {
    const batch = (keys: readonly string[]) => ({
      events: keys.map((id) => ({ id, type: 'order.paid' })),
    })
    const one = { batch, retryIsSameEvent: false } as const
    const cut = { batch: '$.events[*]' }
    const arrival: ProviderDefinition['key'] = {
      all: ['json:$.id', ({ delivery }) => String(delivery.receivedAt.getTime())],
    }

    expect(await check(cut, one)).toContain('an event of a retry is taken for a known one')
    expect(await check({ ...cut, key: arrival }, { batch })).toContain(
      'the retry of a batch has other events',
    )
    const again = await check({ ...cut, key: arrival }, one)
    expect(again.filter((problem) => problem.includes('retry'))).toEqual([])
  })

  test('lets an option be missing that need not be given', async () => {
    const options = { endpoint: { kind: 'text', summary: 'where it is' } } as const
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const configure = (text: string) => ({
      options: { secrets: [text], endpoint: 'here' },
      credentials: { secret: text },
    })
    const one = { configuration: configure(secret), otherConfiguration: configure(`${secret}x`) }

    expect(await check({ options }, one)).toEqual([])
    const required = { endpoint: { ...options.endpoint, isRequired: true } } as const
    expect(await check({ options: required }, one)).toEqual([])
  })

  test('finds a verification that believes anything', async () => {
    const verify = customVerification({
      summary: 'none',
      headers: ['x-acme-signature'],
      signsBody: true,
      optionNames: ['secrets'],
      build: () => ({
        warnings: [],
        secrets: [],
        verify: () => ({ ok: true, secret: '1' }),
      }),
    })
    const fixture = {
      provider: defineProvider<SecretOptions>({ ...ACME, verify }),
      events: { 'order.paid': () => ({ body: { id: '1', type: 'order.paid' } }) },
      sign: () => ({}),
    }

    const problems = await check({ verify }, { fixture })

    expect(problems).toEqual(
      expect.arrayContaining([
        'a delivery signed with another secret is believed',
        'it can be made with secrets: []',
        'a order.paid with another body is believed',
        expect.stringMatching(/^request \d+ of seed 1: believed: /),
      ]),
    )
  })

  // Signed under one name, an event must not get a key that a forger wrote under the other.
  test('finds a key that is read from a header of names that were not signed', async () => {
    const verify = standardSignature({ names: ['acme', 'webhook'] })
    const key = ['header:acme-id', 'header:webhook-id']

    expect(await check({ verify, key })).toEqual(
      expect.arrayContaining([expect.stringMatching(/^request \d+ of seed 1: believed: /)]),
    )
  })

  test('finds a verification that throws', async () => {
    const throwing = {
      ...VERIFY,
      build: () => ({
        warnings: [],
        secrets: [],
        verify: () => {
          throw new Error('on purpose')
        },
      }),
    }

    expect(await check({ verify: throwing })).toContain('it threw Error: on purpose')
  })

  test('finds a handshake and a batch that have no case, and an answer that is another', async () => {
    const handshake = {
      summary: 'a ping',
      when: ['json:$.type', 'ping'],
      answer: () => textAnswer('pong'),
    } as const
    const ping = {
      name: 'a ping',
      deliver: () => ({ body: Buffer.from('{"type":"ping"}') }),
      answer: { status: 200, body: 'ping' },
    } as const

    expect(await check({ handshake })).toEqual(['its handshake has no case'])
    expect(await check({ batch: '$.events[*]' })).toEqual(['its batch has no case'])
    expect(await check({ handshake }, { handshakes: [ping] })).toEqual([
      expect.stringMatching(/^answered .*pong.* and not .*ping/),
    ])
  })
})
