import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { sanity } from '../../../src/providers/index.ts'

const SECRET = 'a secret of this webhook'
const NOW = 1_760_000_000_000
const source = sanity({ secrets: [SECRET] })

function verify(write: (time: string, signature: string) => string, time = `${NOW}`, body = '{}') {
  const signature = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('base64url')
  return source.verify({
    method: 'POST',
    url: '/',
    headers: { 'sanity-webhook-signature': write(time, signature) },
    body: Buffer.from(body),
    receivedAt: new Date(NOW),
  })
}

const usual = (time: string, signature: string) => `t=${time},v1=${signature}`

describe('Sanity', () => {
  test('believes the header as its library writes it', () => {
    expect(verify(usual)).toMatchObject({ ok: true })
  })

  test.each<[string, (time: string, signature: string) => string]>([
    ['a space', (time, signature) => `t=${time}, v1=${signature}`],
    ['a space before', (time, signature) => ` t=${time},v1=${signature}`],
    ['padding', (time, signature) => `t=${time},v1=${signature}=`],
    ['two signatures', (time, signature) => `t=${time},v1=${signature},v1=${signature}`],
    ['two times', (time, signature) => `t=${time},t=${time},v1=${signature}`],
    ['another order', (time, signature) => `v1=${signature},t=${time}`],
    ['a zero before the time', (time, signature) => `t=0${time},v1=${signature}`],
    ['no time', (_time, signature) => `v1=${signature}`],
    ['plain base64', (time, signature) => usual(time, signature.replace(/[-_]/g, '+') + '=')],
  ])('refuses a header with %s, as its library does', (_name, write) => {
    expect(verify(write)).toEqual({ ok: false, reason: 'malformed-header' })
  })

  test('refuses seconds, times before it signed anything, and an empty body', () => {
    expect(verify(usual, '1760000000')).toEqual({ ok: false, reason: 'malformed-header' })
    expect(verify(usual, '1609459199999')).toEqual({ ok: false, reason: 'malformed-timestamp' })
    expect(verify(usual, '1609459200000')).toMatchObject({ ok: true })
    expect(verify(usual, `${NOW}`, '')).toEqual({ ok: false, reason: 'malformed-body' })
  })

  test('quarantines what is older than an hour, or than the window that is asked for', () => {
    const strict = sanity({ secrets: [SECRET], toleranceSeconds: 300 })
    const signature = createHmac('sha256', SECRET).update(`${NOW}.{}`).digest('base64url')
    const delivery = {
      method: 'POST',
      url: '/',
      headers: { 'sanity-webhook-signature': usual(`${NOW}`, signature) },
      body: Buffer.from('{}'),
      receivedAt: new Date(NOW + 301_000),
    }

    expect(source.verify(delivery)).toEqual({ ok: true, secret: '1' })
    expect(strict.verify(delivery)).toEqual({
      ok: true,
      secret: '1',
      quarantine: 'outside the time window',
    })
  })

  test('tells a deletion from the change whose revision it shows, where there is no key', () => {
    const keys = ['update', 'delete'].map((operation) => {
      const [event] = source.identify({
        method: 'POST',
        url: '/',
        headers: { 'sanity-operation': operation },
        body: Buffer.from('{"_id":"a","_rev":"r"}'),
        receivedAt: new Date(NOW),
      })
      return event?.key
    })

    expect(keys).toEqual(['a|r|update', 'a|r|delete'])
    expect(source.sameBytes).toBe('quarantine')
  })
})
