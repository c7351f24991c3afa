import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { airtable } from '../../../src/providers/index.ts'
import { delivery } from '../signed-sources.ts'

const SECRET = 'YWlydGFibGUtbWFjLXNlY3JldC0zMi1ieXRlcy1sb25n'
const source = airtable({ secrets: [SECRET] })
const ping = (webhook: string, timestamp: string) =>
  JSON.stringify({ base: { id: 'app1' }, webhook: { id: webhook }, timestamp })

test('airtable’s pings are two where their webhook or their time differs', () => {
  const keys = [
    ping('ach1', '2025-10-09T08:53:20.000Z'),
    ping('ach1', '2025-10-09T08:53:20.001Z'),
    ping('ach2', '2025-10-09T08:53:20.000Z'),
  ].map((body) => source.identify(delivery({}, body))[0]?.key)

  expect(new Set(keys).size).toBe(3)
  expect(source.identify(delivery({}, '{"base":{"id":"app1"}}'))[0]?.key).toBeUndefined()
})

test('airtable’s secret is decoded, and its signature has a prefix and small letters', async () => {
  const body = ping('ach1', '2025-10-09T08:53:20.000Z')
  const mac = (key: Buffer | string) => createHmac('sha256', key).update(body).digest('hex')
  const verdict = (header: string) =>
    source.verify(delivery({ 'x-airtable-content-mac': header }, body))
  const hex = mac(Buffer.from(SECRET, 'base64'))

  expect(await verdict(`hmac-sha256=${hex}`)).toMatchObject({ ok: true })
  for (const header of [
    hex,
    `sha256=${hex}`,
    `hmac-sha256=${hex.toUpperCase()}`,
    `hmac-sha256=${mac(SECRET)}`,
  ]) {
    expect([header, await verdict(header)]).toMatchObject([header, { ok: false }])
  }
})

test('airtable is answered with nothing', () => {
  expect(source.success).toEqual({ status: 200, body: 'empty' })
})
