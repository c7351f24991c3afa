import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { box } from '../../../src/providers/index.ts'

const NOW = new Date(1_760_000_000_000)
const TIME = '2025-10-09T01:53:20-07:00'
const BODY = '{"id":"eb0c4e06","trigger":"FILE.UPLOADED","path":"a/ü漢","url":"a\\/b"}'
const ESCAPED =
  '{"id":"eb0c4e06","trigger":"FILE.UPLOADED","path":"a\\/\\u00fc\\u6f22","url":"a\\/b"}'

const signatureOf = (key: string, body = BODY) =>
  createHmac('sha256', key).update(body).update(TIME).digest('base64')

function deliver(headers: Readonly<Record<string, string>>, seconds = 0, body = BODY): Delivery {
  return {
    method: 'POST',
    url: '/',
    headers: {
      'box-delivery-timestamp': TIME,
      'box-signature-version': '1',
      'box-signature-algorithm': 'HmacSHA256',
      ...headers,
    },
    body: Buffer.from(body),
    receivedAt: new Date(NOW.getTime() + seconds * 1000),
  }
}

describe('Box', () => {
  const source = box({ secrets: ['the primary key of ours', { value: 'second', label: 'old' }] })
  const primary = { 'box-signature-primary': signatureOf('the primary key of ours') }
  const secondary = { 'box-signature-secondary': signatureOf('second') }
  const verify = (headers: Readonly<Record<string, string>>, seconds?: number, body?: string) =>
    source.verify(deliver(headers, seconds, body))

  test('believes either signature, and says which key it was', () => {
    const wrong = { 'box-signature-primary': signatureOf('another') }

    expect(verify(primary)).toEqual({ ok: true, secret: '1' })
    expect(verify(secondary)).toEqual({ ok: true, secret: 'old' })
    expect(verify({ ...wrong, ...secondary })).toEqual({ ok: true, secret: 'old' })
    expect(verify(wrong)).toEqual({ ok: false, reason: 'bad-signature' })
    expect(verify({})).toEqual({ ok: false, reason: 'missing-header' })
  })

  test('tries each key with its own header and no other', () => {
    const swapped = {
      'box-signature-primary': secondary['box-signature-secondary'],
      'box-signature-secondary': primary['box-signature-primary'],
    }

    expect(verify(swapped)).toEqual({ ok: false, reason: 'bad-signature' })
    expect(
      box({ secrets: ['the primary key of ours'] }).verify(
        deliver({ 'box-signature-secondary': primary['box-signature-primary'] }),
      ),
    ).toEqual({ ok: false, reason: 'missing-header' })
  })

  test('believes a signature over the body as PHP escapes it, and over no other spelling', () => {
    const escaped = (body: string) => ({
      'box-signature-primary': signatureOf('the primary key of ours', body),
    })

    expect(verify(escaped(ESCAPED))).toMatchObject({ ok: true })
    expect(verify(escaped(ESCAPED), 0, ESCAPED)).toMatchObject({ ok: true })
    expect(verify(escaped(ESCAPED.replace('00fc', '00FC')))).toMatchObject({ ok: false })
    expect(verify(escaped(JSON.stringify(JSON.parse(BODY), null, 1)))).toMatchObject({ ok: false })
    // No JSON: `\\ü` would be signed as what is an escaped backslash in JSON.
    expect(verify(escaped('"\\\\u00fc"'), 0, '"\\ü"')).toEqual({
      ok: false,
      reason: 'bad-signature',
    })
  })

  test('takes a delivery for ten minutes, and none from the future', () => {
    expect(verify(primary, 600)).toMatchObject({ ok: true })
    expect(verify(primary, 601)).toEqual({ ok: false, reason: 'stale' })
    expect(verify(primary, -1)).toEqual({ ok: false, reason: 'stale' })
    expect(verify(secondary, 601)).toEqual({ ok: false, reason: 'stale' })
  })

  test.each([
    { 'box-signature-version': '2' },
    { 'box-signature-version': '' },
    { 'box-signature-algorithm': 'HmacSHA1' },
    { 'box-signature-algorithm': 'hmacsha256' },
  ])('refuses %j', (headers) => {
    expect(verify({ ...primary, ...headers })).toEqual({ ok: false, reason: 'bad-signature' })
  })

  test('has two keys at most', () => {
    expect(() => box({ secrets: ['a', 'b', 'c'] })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'box.secrets' }),
    )
  })

  test('knows an event by its id, whatever the attempt is called', () => {
    const keys = ['one', 'two'].map(
      (id) => source.identify(deliver({ 'box-delivery-id': id }))[0]?.key,
    )

    expect(keys).toEqual(['eb0c4e06', 'eb0c4e06'])
    expect(source.sameBytes).toBe('run')
  })
})
