import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { gitlab } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const SIGNING_TOKEN = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const SECRET_TOKEN = 'a-secret-token-of-our-own'
const BODY = { object_kind: 'push', after: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7' }

const signed = sign('gitlab', { key: 'id-1', body: BODY }, { secret: SIGNING_TOKEN })
const shown: Delivery = {
  ...signed,
  headers: { 'x-gitlab-token': SECRET_TOKEN, 'idempotency-key': 'id-1' },
}

describe('gitlab with a signing token', () => {
  const source = gitlab({ secrets: [SIGNING_TOKEN] })

  test('believes a signature, and nothing that has none', async () => {
    expect(await source.verify(signed)).toEqual({ ok: true, secret: '1' })
    expect(await source.verify(shown)).toMatchObject({ ok: false, reason: 'missing-header' })
  })

  test('does not take the signing token for a secret token', async () => {
    const headers = { 'x-gitlab-token': SIGNING_TOKEN }

    expect(await source.verify({ ...signed, headers })).toMatchObject({ ok: false })
  })

  test('knows an event by the id that is signed, not by the one that is not', () => {
    const headers = { ...signed.headers, 'idempotency-key': 'id-2' }

    expect(source.identify({ ...signed, headers })[0]?.key).toBe('id-1')
  })

  test('warns of nothing', () => {
    expect(source.warnings).toEqual([])
  })
})

test.each([
  ['a signing token', [SIGNING_TOKEN]],
  ['a secret token', [SECRET_TOKEN]],
  ['both', [SIGNING_TOKEN, SECRET_TOKEN]],
])('R56: gitlab with %s does not keep the token that a request shows', (_name, secrets) => {
  expect(gitlab({ secrets }).secretHeaders).toEqual(['x-gitlab-token'])
})

describe('gitlab with a secret token', () => {
  const source = gitlab({ secrets: [SECRET_TOKEN] })

  test('believes the token, also beside a signature that it cannot check', async () => {
    const both = { ...signed, headers: { ...signed.headers, 'x-gitlab-token': SECRET_TOKEN } }

    expect(await source.verify(shown)).toEqual({ ok: true, secret: '1' })
    expect(await source.verify(both)).toEqual({ ok: true, secret: '1' })
    expect(await source.verify(signed)).toMatchObject({ ok: false })
  })

  test('knows an event by its idempotency key, or before 17.4 by its bytes', () => {
    const old = { ...shown, headers: { 'x-gitlab-token': SECRET_TOKEN } }
    const other = { ...old, body: Buffer.from('{"object_kind":"push"}') }

    expect(source.identify(shown)[0]?.key).toBe('id-1')
    expect(source.identify(old)[0]?.key).toMatch(/^body_[0-9a-f]{64}$/)
    expect(source.identify(old)).toEqual(source.identify(old))
    expect(source.identify(old)[0]?.key).not.toBe(source.identify(other)[0]?.key)
  })

  test('warns that nothing is signed', () => {
    expect(source.warnings).toEqual([expect.stringContaining('nothing is signed')])
  })
})

describe('gitlab with both', () => {
  const source = gitlab({ secrets: [SECRET_TOKEN, { value: SIGNING_TOKEN, label: 'new' }] })

  test('says which of them it was', async () => {
    expect(await source.verify(shown)).toEqual({ ok: true, secret: '1' })
    expect(await source.verify(signed)).toEqual({ ok: true, secret: 'new' })
  })

  test('judges what carries a signature by the signature alone', async () => {
    const headers = { ...signed.headers, 'x-gitlab-token': SECRET_TOKEN }
    const forged = { ...signed, headers, body: Buffer.from('{"object_kind":"other"}') }

    expect(await source.verify(forged)).toMatchObject({ ok: false, reason: 'bad-signature' })
  })

  test('warns that the token admits what is not signed', () => {
    expect(source.warnings).toEqual([expect.stringContaining('without a signature')])
  })

  test('refuses a label that comes twice, and an old token after its end', async () => {
    const until = new Date(signed.receivedAt.getTime() - 1)
    const ended = gitlab({ secrets: [{ value: SECRET_TOKEN, until }, SIGNING_TOKEN] })

    expect(await ended.verify(shown)).toMatchObject({ ok: false })
    expect(() => gitlab({ secrets: [SECRET_TOKEN, { value: SIGNING_TOKEN, label: '1' }] })).toThrow(
      'label',
    )
  })
})

test('a system hook has its name where others have their kind, and a time that is almost ISO 8601', () => {
  const source = gitlab({ secrets: [SIGNING_TOKEN] })
  const body = { event_name: 'user_add_to_group', updated_at: '2025-10-09 08:53:20 UTC' }
  const [event] = source.identify(sign('gitlab', { body }, { secret: SIGNING_TOKEN }))

  expect(event).toMatchObject({
    type: 'user_add_to_group',
    occurredAt: new Date('2025-10-09T08:53:20Z'),
  })
})
