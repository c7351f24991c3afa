import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { hmac, stripe } from '../../src/providers/index.ts'
import { createProber } from '../../src/verify/prober.ts'
import { resolveSecrets } from '../../src/verify/secrets.ts'

const NOW = new Date('2026-11-18T03:00:00Z')
const BODY = Buffer.from('{"a": 1}\n')
const SECRET = 'whsec_0123456789abcdef'

describe('a probe', () => {
  test('is believed by a source that has the secret, and says whether the body is the same', () => {
    const value = prober().sign(BODY, NOW)

    expect(prober().read(aDelivery(value))).toEqual({ isSame: true })
    expect(prober().read(aDelivery(value, { body: Buffer.from('{"a":1}') }))).toEqual({
      isSame: false,
    })
  })

  test('is believed by each secret of a rotation', () => {
    const value = prober(SECRET).sign(BODY, NOW)

    expect(prober('another_0123456789', SECRET).read(aDelivery(value))).toEqual({ isSame: true })
  })

  test('is not believed without the secret, changed, or old', () => {
    const value = prober().sign(BODY, NOW)
    const another = prober('another_0123456789').sign(BODY, NOW)
    const [version, seconds, sha256, mac] = value.split(',') as [string, string, string, string]
    const changed = [
      another,
      [version, String(Number(seconds) + 1), sha256, mac].join(','),
      [version, seconds, 'f'.repeat(64), mac].join(','),
      [version, seconds, sha256, 'f'.repeat(64)].join(','),
      [version, seconds, sha256, mac.slice(2)].join(','),
      `${value},`,
      '',
    ]

    for (const one of changed) expect(prober().read(aDelivery(one)), one).toBeUndefined()
    for (const seconds of [-301, 301])
      expect(
        prober().read(aDelivery(value, { receivedAt: new Date(NOW.getTime() + seconds * 1_000) })),
      ).toBeUndefined()
  })

  test('that was captured is no signature of the sender', async () => {
    const source = hmac({
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      secrets: [SECRET],
      key: 'body',
    })
    const value = source.prober?.sign(BODY, NOW) ?? ''
    const at = value.lastIndexOf(',')
    const forged = {
      ...aDelivery(''),
      headers: { 'x-signature': value.slice(at + 1) },
      body: Buffer.from(value.slice(0, at)),
    }

    expect(await source.verify(forged)).toEqual({ ok: false, reason: 'bad-signature' })
    // With the secret itself as the key it would have been one.
    const naive = createHmac('sha256', SECRET).update(forged.body).digest('hex')
    expect(await source.verify({ ...forged, headers: { 'x-signature': naive } })).toMatchObject({
      ok: true,
    })
  })

  test('cannot be made where both sides share no secret', () => {
    expect(createProber([])).toBeUndefined()
    expect(stripe({ secrets: [SECRET] }).prober).toBeDefined()
  })
})

function prober(...secrets: readonly string[]) {
  const given = secrets.length > 0 ? secrets : [SECRET]
  const made = createProber(resolveSecrets('test', given, 'utf8').secrets)
  if (made === undefined) throw new Error('there is a secret')
  return made
}

function aDelivery(value: string, changes: Partial<Delivery> = {}): Delivery {
  return {
    method: 'POST',
    url: '/in/stripe',
    headers: { 'hookonce-probe': value },
    body: BODY,
    receivedAt: NOW,
    ...changes,
  }
}
