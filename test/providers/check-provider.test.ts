import { describe, expect, test } from 'vitest'
import {
  customVerification,
  defineProvider,
  hmacSignature,
  standardSignature,
  textAnswer,
} from '../../src/providers/index.ts'
import type { ProviderDefinition, SecretOptions } from '../../src/providers/index.ts'
import { checkProvider } from '../../src/testing/index.ts'
import type { ProviderCase } from '../../src/testing/index.ts'

const VERIFY = hmacSignature({
  signature: 'header:x-acme-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  signed: '{body}',
})

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

  test('finds a header that nobody signs, until the case says why that is safe', async () => {
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

  // Signed under one name, an event must not get a key that somebody wrote under the other.
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
