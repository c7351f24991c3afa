import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { readSecret, signMessage, webhookId } from '../../src/outbox/sign-message.ts'

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(24, 8).toString('base64')}`

describe('a signature', () => {
  const id = webhookId('a.key.with.dots')
  const timestamp = Math.floor(Date.now() / 1_000)
  const body = Buffer.from('{"a":"é"}')
  const headers = (secrets: readonly string[]) => ({
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage(
      secrets.map((secret) => readSecret('secret', secret)),
      { id, timestamp, body },
    ),
  })

  test('is believed by the library of Standard Webhooks', () => {
    expect(new Webhook(SECRET).verify(body.toString(), headers([SECRET]))).toEqual({ a: 'é' })
    expect(() => new Webhook(OTHER).verify(body.toString(), headers([SECRET]))).toThrow()
  })

  test('with two secrets is believed by receivers that have either', () => {
    for (const secret of [SECRET, OTHER])
      expect(new Webhook(secret).verify(body.toString(), headers([SECRET, OTHER]))).toBeTruthy()
  })

  test('has an id without dots, the same for the same key', () => {
    expect(id).toMatch(/^msg_[\w-]{43}$/)
    expect(webhookId('a.key.with.dots')).toBe(id)
    expect(webhookId('another')).not.toBe(id)
  })
})

test.each(['', 'short', 'whsec_', 'whsec_c2hvcnQ=', undefined])(
  'the secret %j is refused',
  (secret) => {
    expect(() => readSecret('x.secrets.0', secret)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'x.secrets.0' }),
    )
  },
)
