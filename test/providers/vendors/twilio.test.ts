import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { twilio } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'
import { openReceivingInbox } from '../../support/receiving-inbox.ts'
import { bareDelivery, isBelieved, keysOf } from '../bare-delivery.ts'

const SECRET = 'a-secret-of-some-length'
const secrets = [SECRET]

describe('Twilio', () => {
  const signedUrl = (url: string, text = '') =>
    createHmac('sha1', SECRET)
      .update(url + text)
      .digest('base64')
  const call = (url: string, parts: Partial<Delivery> = {}, text = 'CallSidCA1') =>
    bareDelivery({
      body: Buffer.from('CallSid=CA1'),
      ...parts,
      headers: { 'x-twilio-signature': signedUrl(url, text), ...parts.headers },
    })

  test.each([
    ['as it is configured', 'https://example.com:8443/in', 'https://example.com:8443/in'],
    ['without its port', 'https://example.com:8443/in', 'https://example.com/in'],
    ['with the usual port', 'https://example.com/in', 'https://example.com:443/in'],
    ['with the usual port of http', 'http://example.com/in', 'http://example.com:80/in'],
  ])('believes the URL signed %s', async (_, publicUrl, url) => {
    expect(await isBelieved(twilio({ secrets, publicUrl }), call(url))).toBe(true)
  })

  test.each([
    ['as it came', 'https://example.com:8443/in?a=x,y'],
    ['as it came, without the port', 'https://example.com/in?a=x,y'],
    ['as an older library writes it', 'https://example.com:8443/in?a=x%2Cy'],
    ['as an older library writes it, without the port', 'https://example.com/in?a=x%2Cy'],
  ])('believes a query signed %s', async (_, url) => {
    const source = twilio({ secrets, publicUrl: 'https://example.com:8443/in' })

    expect(await isBelieved(source, call(url, { url: '/in?a=x,y' }))).toBe(true)
  })

  test('believes a query signed with the usual port, as it came', async () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })
    const delivery = call('https://example.com:443/in?a=x,y', { url: '/in?a=x,y' })

    expect(await isBelieved(source, delivery)).toBe(true)
  })

  test('R40: takes the host from the configuration, whatever the request says', async () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }

    expect(await isBelieved(source, call('https://evil.example/in', { headers }))).toBe(false)
    expect(await isBelieved(source, call('https://example.com/in', { headers }))).toBe(true)
  })

  test('takes a query that is added to the configured one, and no other', async () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in?a=1' })
    const called = (query: string) => call(`https://example.com/in${query}`, { url: `/${query}` })

    expect(await isBelieved(source, called('?a=1'))).toBe(true)
    expect(await isBelieved(source, called('?a=1&b=2'))).toBe(true)
    expect(await isBelieved(source, called('?a=10'))).toBe(false)
    expect(await isBelieved(source, called('?b=2'))).toBe(false)
  })

  test('takes the configured query in another spelling', async () => {
    const publicUrl = "https://example.com/in?a=O'Brien"
    const delivery = call(publicUrl, { url: '/in?a=O%27Brien' })

    expect(await isBelieved(twilio({ secrets, publicUrl }), delivery)).toBe(true)
  })

  test('takes the hash of a body only from the URL that was signed, and only once', async () => {
    const body = Buffer.from('{"forged":true}')
    const hash = createHash('sha256').update(body).digest('hex')
    const publicUrl = 'https://example.com/in'
    const source = twilio({ secrets, publicUrl })
    const called = (signed: string, query: string) =>
      call(publicUrl + signed, { url: `/${query}`, body }, '')

    expect(await isBelieved(source, called(`?bodySHA256=${hash}`, `?bodySHA256=${hash}`))).toBe(
      true,
    )
    expect(await isBelieved(source, called('', `?bodySHA256=${hash}`))).toBe(false)
    const twice = `?bodySHA256=${'0'.repeat(64)}&bodySHA256=${hash}`
    expect(await isBelieved(source, called(twice, twice))).toBe(false)
  })

  test('makes the fields of a GET the body of its event', async () => {
    const url = '/in?CallSid=CA1&CallStatus=ringing'
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })
    const delivery = sign(
      'twilio',
      { method: 'GET', url, body: '', headers: { 'i-twilio-idempotency-token': 't1' } },
      { secret: SECRET, publicUrl: 'https://example.com/in' },
    )
    const [event] = source.identify(delivery)

    expect(await isBelieved(source, delivery)).toBe(true)
    expect(await isBelieved(source, { ...delivery, url: `${url}&x=1` })).toBe(false)
    expect(event).toMatchObject({ key: 't1', type: 'call.ringing' })
    expect(event?.bodyType).toBe('application/x-www-form-urlencoded')
    expect(Buffer.from(event?.body ?? []).toString()).toBe('CallSid=CA1&CallStatus=ringing')
  })

  test('without a token tells two steps of one call apart, and knows a retry', () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })
    const gathered = (body: string) =>
      keysOf(
        source,
        bareDelivery({ body: Buffer.from(`CallSid=CA1&CallStatus=in-progress&${body}`) }),
      )

    expect(gathered('Digits=1')).not.toEqual(gathered('Digits=2'))
    expect(gathered('Digits=1')).toEqual(gathered('Digits=1'))
  })

  test('does not give the elements of a list the token of their request', () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })
    const headers = { 'i-twilio-idempotency-token': 't1' }
    const keys = keysOf(source, bareDelivery({ headers, body: Buffer.from('[{"a":1},{"a":2}]') }))

    expect(new Set(keys).size).toBe(2)
    expect(keys).not.toContain('t1')
  })

  test('gives all that sign alike one content, wherever a field was moved to', async () => {
    const publicUrl = 'https://example.com/in'
    const source = twilio({ secrets, publicUrl })
    const text = '?a=1CallSidCA1FromB'
    const made = [
      { url: '/in?a=1', body: Buffer.from('CallSid=CA1&From=B') },
      { url: '/in?a=1', body: Buffer.from('CallSid=CA1FromB') },
      { url: '/in?a=1CallSidCA1', body: Buffer.from('From=B') },
    ].map((parts) => call(publicUrl, parts, text))

    const contents = made.map((delivery) => source.identify(delivery)[0]?.content?.toString())
    for (const delivery of made) expect(await isBelieved(source, delivery)).toBe(true)
    expect(contents).toEqual([text, text, text].map((one) => publicUrl + one))
  })

  test.each([
    ['no query', '', ['?', '?#x', '#x', '?#', '#']],
    ['a query', '?a=b', ['&', '&&', '&&&', '&#']],
    ['a query that is escaped', '?a=b%20c', ['&', '&&']],
  ])('R53: one captured form of %s runs once', async (_name, query, tails) => {
    const publicUrl = 'https://example.com/in'
    const { receive } = await openReceivingInbox({ source: twilio({ secrets, publicUrl }) })
    const captured = call(publicUrl + query, { url: `/in${query}` })
    const spelled = query === '' ? [] : [query.replace('%20', '+'), query.replace('b', '%62')]
    const urls = [...tails.map((tail) => `/in${query}${tail}`), ...spelled.map((q) => `/in${q}`)]

    expect(await receive('source', captured)).toBe('accepted')
    for (const [n, url] of urls.entries()) {
      const headers = { ...captured.headers, 'i-twilio-idempotency-token': `fresh-${n}` }
      expect(await receive('source', { ...captured, url, headers })).not.toBe('accepted')
      expect(await receive('source', { ...captured, url })).not.toBe('accepted')
    }
  })

  test('R53: one captured GET runs once, also as a POST', async () => {
    const publicUrl = 'https://example.com/in'
    const { receive } = await openReceivingInbox({ source: twilio({ secrets, publicUrl }) })
    const empty = { method: 'GET', body: new Uint8Array() }
    const captured = call(
      `${publicUrl}?CallSid=CA1&a=b`,
      { ...empty, url: '/in?CallSid=CA1&a=b' },
      '',
    )
    const urls = ['/in?CallSid=CA1&a=b', '/in?CallSid=CA1&a=b&', '/in?CallSid=CA1&&a=%62']

    expect(await receive('source', captured)).toBe('accepted')
    for (const [n, url] of urls.entries()) {
      for (const method of ['GET', 'POST']) {
        const headers = { ...captured.headers, 'i-twilio-idempotency-token': `${method}-${n}` }
        expect(await receive('source', { ...captured, method, url, headers })).not.toBe('accepted')
      }
    }
  })

  test('R53: a list that is signed by its hash is no GET, and JSON without a hash is nothing', async () => {
    const publicUrl = 'https://example.com/in'
    const source = twilio({ secrets, publicUrl })
    const type = 'com.twilio.messaging.message.delivered'
    const delivery = sign('twilio', { type }, { secret: SECRET, publicUrl })
    const bare = call(publicUrl, { url: '/in', body: Buffer.from('[]') }, '[]')

    expect(await isBelieved(source, delivery)).toBe(true)
    expect(await isBelieved(source, { ...delivery, method: 'GET' })).toBe(false)
    expect(await isBelieved(source, bare)).toBe(false)
  })

  test('is answered with TwiML, and quarantines known fields under a new token', () => {
    const source = twilio({ secrets, publicUrl: 'https://example.com/in' })

    expect(source.success.body).toEqual({ text: '<Response/>', contentType: 'text/xml' })
    expect(source.sameBytes).toBe('quarantine')
  })
})
