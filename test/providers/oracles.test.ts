/**
 * The providers' own libraries as judges: what they sign we believe, what our kit signs they believe.
 *
 * @module
 */

import { sign as githubSign, verify as githubVerify } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { github, standardWebhooks, stripe } from '../../src/providers/index.ts'
import { signedDelivery } from '../../src/testing/index.ts'
import { delivery, headerOf, NOW, OTHER_SECRET, SECRET, verdictOf } from './signed-sources.ts'

const BODY = '{"id":"evt_1","name":"Zoë 株式会社","n":1.0}\r\n'
// Well-formed text only: the libraries turn a body into a string, and we never do.
const text = fc.string({ unit: 'grapheme', minLength: 1 })

describe('Stripe’s library', () => {
  const { webhooks } = new Stripe('sk_test_unused')

  test('signs what we believe', () => {
    fc.assert(
      fc.property(text, (payload) => {
        const header = webhooks.generateTestHeaderString({
          payload,
          secret: SECRET,
          timestamp: NOW.getTime() / 1000,
        })

        expect(
          verdictOf(
            stripe({ secrets: [SECRET] }),
            delivery({ 'stripe-signature': header }, payload),
          ).ok,
        ).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test('believes what our kit signs, and not under another secret', () => {
    const { body, headers } = signedDelivery('stripe', { secret: SECRET })
    const construct = (secret: string) =>
      webhooks.constructEvent(Buffer.from(body), headers['stripe-signature'] as string, secret)

    expect(construct(SECRET).type).toBe('invoice.paid')
    expect(() => construct(OTHER_SECRET)).toThrow(/signature/)
  })
})

describe('GitHub’s library', () => {
  test('signs what we believe', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (payload) => {
        const header = await githubSign(SECRET, payload)

        expect(
          verdictOf(
            github({ secrets: [SECRET] }),
            delivery({ 'x-hub-signature-256': header }, payload),
          ).ok,
        ).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test('believes what our kit signs, and not under another secret', async () => {
    const signed = signedDelivery('github', { secret: SECRET, body: BODY })
    const signature = headerOf(signed, 'x-hub-signature-256')

    expect(await githubVerify(SECRET, BODY, signature)).toBe(true)
    expect(await githubVerify(OTHER_SECRET, BODY, signature)).toBe(false)
  })
})

describe('the Standard Webhooks library', () => {
  test('signs what we believe', () => {
    fc.assert(
      fc.property(text, (payload) => {
        const headers = {
          'webhook-id': 'msg_1',
          'webhook-timestamp': String(NOW.getTime() / 1000),
          'webhook-signature': new Webhook(SECRET).sign('msg_1', NOW, payload),
        }

        expect(
          verdictOf(standardWebhooks({ secrets: [SECRET] }), delivery(headers, payload)).ok,
        ).toBe(true)
      }),
      { numRuns: 30 },
    )
  })

  test('believes what our kit signs, and not under another secret', () => {
    const signed = signedDelivery('standardWebhooks', { secret: SECRET, body: BODY })
    const headers = signed.headers as Record<string, string>

    expect(new Webhook(SECRET).verify(BODY, headers)).toMatchObject({ id: 'evt_1' })
    expect(() => new Webhook(OTHER_SECRET).verify(BODY, headers)).toThrow(/No matching signature/)
  })
})
