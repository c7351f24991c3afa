import { expect, test } from 'vitest'
import { linear } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const SECRET = 'lin_wh_a-secret-that-is-long-enough'
const NOW = new Date(1_760_000_000_000)
const signed = sign('linear', { at: NOW }, { secret: SECRET })

function verifyAfter(ms: number, toleranceSeconds?: number) {
  const source = linear({ secrets: [SECRET], ...(toleranceSeconds && { toleranceSeconds }) })
  return source.verify({ ...signed, receivedAt: new Date(NOW.getTime() + ms) })
}

test.each([-60_000, 0, 60_000])('a delivery is believed %d ms after its time', async (ms) => {
  expect(await verifyAfter(ms)).toMatchObject({ ok: true })
})

test.each([-60_001, 60_001])('and is stale %d ms after it', async (ms) => {
  expect(await verifyAfter(ms)).toEqual({ ok: false, reason: 'stale' })
})

test('a retry that kept its time is believed with a wider window', async () => {
  expect(await verifyAfter(6 * 3_600_000, 7 * 3_600)).toMatchObject({ ok: true })
})

test('a fresh time in the header, which is not signed, does not help', async () => {
  const receivedAt = new Date(NOW.getTime() + 120_000)
  const headers = { ...signed.headers, 'linear-timestamp': String(receivedAt.getTime()) }

  expect(await linear({ secrets: [SECRET] }).verify({ ...signed, headers, receivedAt })).toEqual({
    ok: false,
    reason: 'stale',
  })
})

test('the kit writes the time as Linear does, as a number', () => {
  expect(JSON.parse(Buffer.from(signed.body).toString())).toMatchObject({
    webhookTimestamp: NOW.getTime(),
  })
})
