/**
 * What is particular to one provider of payments: look-alike ids, weak spots, older schemes.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  braintree,
  flutterwave,
  gocardless,
  klarna,
  lemonsqueezy,
  mollie,
  paddle,
  paystack,
} from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { AT, deliver, expectOneKey, expectOwnKeys, keysOf } from './event-keys.ts'

const SECRET = 'a-secret-of-a-fair-length'

describe('braintree', () => {
  const source = braintree({ secrets: ['public|private'] })
  const { body } = sign(braintree, { at: AT }, { secret: 'public|private' })
  const form = Buffer.from(body).toString()

  test('knows a payload with and without its last line break', async () => {
    const trimmed = form.replace(/%0A$/, '')

    expect(trimmed).not.toBe(form)
    for (const text of [form, trimmed]) {
      expect(await source.verify(deliver(text))).toMatchObject({ ok: true })
    }
    expect(keysOf(source, trimmed)).toEqual(keysOf(source, form))
  })

  test('does not take the answer to a challenge for the signature of a payload', async () => {
    const challenge = '20f9f8ed05f77439fe955c977e4c8a53'
    const answer = await source.handshake?.(
      { ...deliver(''), method: 'GET', url: `/?bt_challenge=${challenge}` },
      'unverified',
    )
    const signature = (answer as { body: string }).body
    const forged = new URLSearchParams({ bt_signature: signature, bt_payload: challenge })

    expect(signature).toMatch(/^public\|[0-9a-f]{40}$/)
    expect(await source.verify(deliver(forged.toString()))).toEqual({
      ok: false,
      reason: 'malformed-body',
    })
  })

  test.each([
    ['the signature of another key', form.replace('bt_signature=public', 'bt_signature=other')],
    ['a signature in capitals', form.replace(/%7C[0-9a-f]{40}/, (hex) => hex.toUpperCase())],
    ['two payloads', `${form}&bt_payload=PG5vdGlmaWNhdGlvbj4%3D`],
    ['characters that are not base64', form.replace('bt_payload=', 'bt_payload=%20')],
  ])('refuses %s', async (_, text) => {
    expect(await source.verify(deliver(text))).toMatchObject({ ok: false })
  })

  test('does not take the kind of the subject for its own', () => {
    const xml =
      '<notification><subject><dispute><kind>chargeback</kind></dispute></subject></notification>'
    const payload = new URLSearchParams({ bt_payload: Buffer.from(xml).toString('base64') })

    expect(source.identify(deliver(payload.toString()))).toMatchObject([{ type: 'unknown' }])
  })

  test.each(['public', 'public|', '|private', 'public|private|more'])(
    'cannot be made with %s',
    (secret) => {
      expect(() => braintree({ secrets: [secret] })).toThrow(/secrets/)
    },
  )
})

describe('flutterwave', () => {
  const source = flutterwave({ secrets: [SECRET] })
  const V3 = { event: 'charge.completed', data: { id: 285959875, status: 'successful' } }
  const V4 = { type: 'charge.completed', data: { id: 'chg_1', status: 'succeeded' } }

  test('takes the secret of v3 in its own header only', async () => {
    expect(await source.verify(deliver(V3, { 'verif-hash': SECRET }))).toMatchObject({ ok: true })
    expect(await source.verify(deliver(V3, { 'verif-hash': `${SECRET}x` }))).toMatchObject({
      ok: false,
    })
    expect(
      await source.verify(deliver(V4, { 'flutterwave-signature': SECRET, 'verif-hash': SECRET })),
    ).toMatchObject({ ok: false })
  })

  test('knows an event by its type, object and status', () => {
    expectOneKey(source, V4, { ...V4, webhook_id: 'wbk_2', timestamp: 1_760_000_000_000 })
    expectOwnKeys(
      source,
      V4,
      { ...V4, data: { ...V4.data, status: 'failed' } },
      V3,
      { ...V3, event: 'transfer.completed' },
      { Type: 'Debit', CardId: 'card-1', Amount: 10 },
      { Type: 'Debit', CardId: 'card-1', Amount: 11 },
    )
  })
})

describe('gocardless and klarna', () => {
  test('refuse with the status that each asks for', () => {
    expect(gocardless({ secrets: [SECRET] }).refusal?.status).toBe(498)
    expect(klarna({ secrets: [SECRET] }).refusal?.status).toBe(400)
  })
})

describe('lemonsqueezy', () => {
  test('tells two changes in one second apart', () => {
    const change = (status: string) => ({
      meta: { event_name: 'subscription_updated' },
      data: {
        type: 'subscriptions',
        id: '1',
        attributes: { status, updated_at: '2025-10-09T08:53:18.000000Z' },
      },
    })

    expectOwnKeys(lemonsqueezy({ secrets: [SECRET] }), change('active'), change('cancelled'))
  })
})

describe('mollie', () => {
  const signedOnly = mollie({ secrets: [SECRET] })
  const both = mollie({ secrets: [SECRET], classic: true })

  test('takes classic calls only where that was chosen, and says so', async () => {
    const call = deliver('id=tr_5B8cwPMGnU6qLbRvo7qEZo')

    expect(await signedOnly.verify(call)).toMatchObject({ ok: false })
    expect(await both.verify(call)).toEqual({ ok: true, secret: 'none' })
    expect(signedOnly.warnings).toEqual([])
    expect(both.warnings).toEqual([expect.stringMatching(/classic/)])
  })

  test.each([
    ['an event without a signature', '{"id":"event_1","type":"payment-link.paid"}', {}],
    ['a form that says more', 'id=tr_1&status=paid', {}],
    ['two ids', 'id=tr_1&id=tr_2', {}],
    ['something that is no id', 'id=%7B%22a%22%3A1%7D', {}],
    ['a classic call with a wrong signature', 'id=tr_1', { 'x-mollie-signature': '0'.repeat(64) }],
  ])('refuses %s even then', async (_, body, headers) => {
    expect(await both.verify(deliver(body, headers))).toMatchObject({ ok: false })
  })

  test('takes every classic call for an event: the id is the object’s', () => {
    const [first, second] = [0, 60_000].map((ms) =>
      both.identify(deliver('id=tr_1', {}, new Date(AT.getTime() + ms))),
    )

    expect(first).toMatchObject([{ type: 'classic' }])
    expect(first?.[0]?.key).not.toBe(second?.[0]?.key)
  })
})

describe('paddle', () => {
  const source = paddle({ secrets: [SECRET] })
  const { body, headers } = sign(paddle, { at: AT }, { secret: SECRET })
  const [time, ours] = (headers['paddle-signature'] as string).split(';')

  test('believes our signature wherever it stands in a rotation', async () => {
    const theirs = `h1=${'0'.repeat(64)}`
    for (const value of [`${time};${ours};${theirs}`, `${time};${theirs};${ours}`]) {
      const delivery = { ...deliver('', { 'paddle-signature': value }), body }
      expect(await source.verify(delivery)).toMatchObject({ ok: true })
    }
  })

  test.each([
    [5, 6, false],
    [undefined, 6, true],
    [undefined, 301, false],
    [undefined, -301, false],
  ])('with a tolerance of %s, an age of %s s: %s', async (toleranceSeconds, age, ok) => {
    const options = toleranceSeconds === undefined ? {} : { toleranceSeconds }
    const receivedAt = new Date(AT.getTime() + age * 1000)
    const verdict = await paddle({ secrets: [SECRET], ...options }).verify({
      ...deliver('', {}, receivedAt),
      headers,
      body,
    })

    expect(verdict.ok).toBe(ok)
  })
})

describe('paystack', () => {
  const source = paystack({ secrets: [SECRET] })
  const charge = (domain: string, more: object = {}) => ({
    event: 'charge.success',
    data: { id: 302961, domain, status: 'success', ...more },
  })

  test('knows a charge by its id within its mode, and all else by its bytes', () => {
    expectOneKey(source, charge('live'), charge('live', { log: { time_spent: 16 } }))
    const dispute = { event: 'charge.dispute.remind', data: { id: 1, domain: 'live' } }
    expectOwnKeys(
      source,
      charge('live'),
      charge('test'),
      { ...charge('live'), event: 'charge.dispute.create' },
      dispute,
      { ...dispute, data: { ...dispute.data, due_at: '2025-10-10' } },
      { event: 'subscription.expiring_cards', data: [{ subscription: { id: 94729 } }] },
      { event: 'subscription.expiring_cards', data: [{ subscription: { id: 94730 } }] },
    )
  })

  test('a key that is no number’s is never made up of texts', () => {
    const body = { event: 'charge.success', data: { id: '1|success' } }

    expect(keysOf(source, body)[0]).toContain(
      createHash('sha256').update(JSON.stringify(body)).digest('hex'),
    )
  })
})
