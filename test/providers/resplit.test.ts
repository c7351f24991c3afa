import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import {
  adyen,
  contentful,
  hmac,
  hubspot,
  mandrill,
  square,
  trello,
  twilio,
} from '../../src/providers/index.ts'
import type { Choice, SignatureSpec, StandardSpec } from '../../src/providers/index.ts'
import { CHECKED_AT, makeSubject } from '../../src/testing/check-subject.ts'
import { openReceivingInbox } from '../support/receiving-inbox.ts'
import { bareDelivery, NOW, post } from './bare-delivery.ts'
import { findCase } from './find-case.ts'
import { listResplit } from './resplit.ts'
import { PROVIDERS } from './vector.ts'

const SECRET = 'a-secret-of-some-length'
const PUBLIC_URL = 'https://example.com/in/source'
const CONSTANTS = { '{url}': PUBLIC_URL, '{method}': 'POST' }

/** The schemes of a provider that join several things into one text, as templates. */
function listTemplates(slug: string): readonly SignatureSpec[] {
  const { kind, spec, choices = [] } = PROVIDERS.get(slug)?.definition.verify ?? {}
  const all = [{ kind, spec }, ...choices.map(({ use }: Choice) => use)]
  return all.flatMap((one) => {
    if (one.kind === 'standard') return (one.spec as StandardSpec).names.map(standardSpec)
    const { signed } = (one.spec ?? {}) as Partial<SignatureSpec>
    const variables = typeof signed === 'string' ? (signed.match(/\{[^{}]*\}/g) ?? []) : []
    return variables.length > 1 ? [one.spec as SignatureSpec] : []
  })
}

function standardSpec(name: string): SignatureSpec {
  return {
    signature: `header:${name}-signature`,
    encoding: 'base64',
    timestamp: { at: `header:${name}-timestamp`, format: 'seconds', toleranceSeconds: 300 },
    signed: `{header:${name}-id}.{timestamp}.{body}`,
  }
}

/** Those whose pieces are read back by hand below, or cannot be: the text ends with what is computed. */
const BY_HAND: Readonly<Record<string, string>> = {
  paypal:
    'ends with the CRC of the body, so that only the id and the time can be taken apart: below',
  mailgun: 'joins two values of the body: below',
}

const JOINED = [...PROVIDERS.keys()].filter(
  (slug) => listTemplates(slug).length > 0 && !(slug in BY_HAND),
)

/** What strangers may have put into a body that is signed: times and marks of every scheme. */
const hostileText = fc
  .array(
    fc.constantFrom('.', ':', '|', 'v0:', ',', ';', '1760000000', '1760000000000', '{', '}', 'a',
      CHECKED_AT.toISOString(), PUBLIC_URL, '{}', '[]', '2025-10-09T08:53:20Z', '0'), // prettier-ignore
    { maxLength: 6 },
  )
  .map((scraps) => scraps.join(''))

describe('R51: a text that was signed is read in one way', () => {
  test('there are as many schemes to look at as join anything by a template', () => {
    expect(JOINED).toEqual([
      'anthropic',
      'bigcommerce',
      'calendly',
      'clerk',
      'discord',
      'gitlab',
      'hubspot',
      'openai',
      'paddle',
      'recurly',
      'resend',
      'sanity',
      'sendgrid',
      'slack',
      'square',
      'standard_webhooks',
      'stripe',
      'svix',
      'trello',
      'twitch',
      'webflow',
      'workos',
      'zendesk',
      'zoom',
    ])
  })

  test.each(JOINED)('%s: no other split of it makes another event', async (slug) => {
    const one = await findCase(slug)
    const provider = PROVIDERS.get(slug)
    if (one === undefined || provider === undefined) throw new Error(`no case of ${slug}`)
    const { source, deliver, types } = makeSubject(provider, one)
    const { receive, inbox } = await openReceivingInbox({ source })
    let accepted = 0
    inbox.events.on('delivery.accepted', () => (accepted += 1))
    let n = 0

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...types), hostileText, async (type, text) => {
        n += 1
        const sample = deliver({ type, key: `${820_000_000 + n}` })
        const body = withText(Buffer.from(sample.body).toString('utf8'), text)
        const captured = deliver({ type, key: `${820_000_000 + n}`, body })
        await receive('source', captured)
        const before = accepted

        for (const spec of listTemplates(slug)) {
          if (captured.headers[String(spec.signature).slice(7)] === undefined) continue
          for (const resplit of listResplit(spec, captured, CONSTANTS)) {
            await receive('source', resplit)
            expect({ accepted, ...shown(resplit) }).toEqual({ ...shown(resplit), accepted: before })
          }
        }
      }),
      { numRuns: 8 },
    )
  })
})

function shown({ headers, body }: Delivery): object {
  return { headers, body: Buffer.from(body).toString('latin1') }
}

/** A body with a text in it that an attacker has chosen. */
function withText(body: string, text: string): string {
  if (body.startsWith('{')) return body.replace('{', `{"of_a_stranger":${JSON.stringify(text)},`)
  if (body.startsWith('[{')) return body.replace('[{', `[{"of_a_stranger":${JSON.stringify(text)},`)
  return body
}

const sha1 = (text: string) => createHmac('sha1', SECRET).update(text).digest('base64')
const sha256 = (text: string, encoding: 'hex' | 'base64' = 'base64') =>
  createHmac('sha256', SECRET).update(text, 'latin1').digest(encoding)

describe('R51: text that was signed for another URL with the same secret', () => {
  const publicUrl = PUBLIC_URL
  const body = '{"event_id":"e","action":{"id":"a","type":"t"}}'

  test.each(['2', '/other', '?x=', '-test', '#'])('Square: under …%s is refused', async (tail) => {
    const source = square({ secrets: [SECRET], publicUrl })
    const delivery = (sent: string) =>
      post(sent, { 'x-square-hmacsha256-signature': sha256(publicUrl + sent) })

    expect(await source.verify(delivery(body))).toMatchObject({ ok: true })
    expect(await source.verify(delivery(tail + body))).toMatchObject({ ok: false })
  })

  test.each(['https://evil.example/?', 'https://evil.example/?}', ' https://evil.example/?"]}'])(
    'Trello: for the webhook %s of a stranger is refused',
    async (head) => {
      const source = trello({ secrets: [SECRET], publicUrl })
      const delivery = (sent: string) => post(sent, { 'x-trello-webhook': sha1(sent + publicUrl) })

      expect(await source.verify(delivery(body))).toMatchObject({ ok: true })
      expect(await source.verify(delivery(body + head))).toMatchObject({ ok: false })
    },
  )

  test.each(['/card', '2', '?x='])('HubSpot: under …%s is refused', async (tail) => {
    const source = hubspot({ secrets: [SECRET], publicUrl })
    const delivery = (sent: string) =>
      post(sent, {
        'x-hubspot-signature-v3': sha256(`POST${publicUrl}${sent}${NOW.getTime()}`),
        'x-hubspot-request-timestamp': String(NOW.getTime()),
      })

    expect(await source.verify(delivery('[{"eventId":1}]'))).toMatchObject({ ok: true })
    expect(await source.verify(delivery(`${tail}[{"eventId":1}]`))).toMatchObject({ ok: false })
  })

  test.each(['/other', '-test', '.php', '%2f'])('Twilio: under …%s is refused', async (tail) => {
    const source = twilio({ secrets: [SECRET], publicUrl })
    const signature = sha1(`${publicUrl}${tail}AccountSidACMessageSidSM`)
    const fields = new URLSearchParams([
      [`${tail}AccountSid`, 'AC'],
      ['MessageSid', 'SM'],
    ])

    expect(
      await source.verify(post(fields.toString(), { 'x-twilio-signature': signature })),
    ).toMatchObject({ ok: false })
  })
})

describe('R51: fields of a form with nothing between', () => {
  test('Mandrill: a text in an event is no list of events', async () => {
    const source = mandrill({ secrets: [SECRET], publicUrl: PUBLIC_URL })
    const { receive } = await openReceivingInbox({ source })
    const events = '[{"event":"inbound","msg":{"subject":"mandrill_events[1,2]nothing"}}]'
    const signature = sha1(`${PUBLIC_URL}mandrill_events${events}`)
    const [before = '', behind = ''] = events.split('mandrill_events[1,2]')
    const sent = (fields: readonly [string, string][]) =>
      post(new URLSearchParams([...fields]).toString(), { 'x-mandrill-signature': signature })

    expect(await receive('source', sent([['mandrill_events', events]]))).toBe('accepted')
    expect(
      await receive(
        'source',
        sent([
          ['mandrill_event', `s${before}`],
          ['mandrill_events', '[1,2]'],
          [behind.slice(0, 1), behind.slice(1)],
        ]),
      ),
    ).toBe('refused')
  })

  test('Mandrill: what is no list is kept, however it is escaped, and does not run', async () => {
    const source = mandrill({ secrets: [SECRET], publicUrl: PUBLIC_URL })
    const { receive } = await openReceivingInbox({ source })
    const headers = { 'x-mandrill-signature': sha1(`${PUBLIC_URL}mandrill_events{"a":1}`) }

    for (const body of ['mandrill_events={"a":1}', 'mandrill_events=%7B"a":1}'])
      expect(await receive('source', post(body, headers))).toBe('quarantined')
  })
})

test('R51: Adyen: the signature of a body is none of an item', async () => {
  const key = '0123456789ABCDEF'.repeat(4)
  const signatureOf = (text: string) =>
    createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('base64')
  const source = adyen({ secrets: [key] })
  const body = '{"type":"transfer","data":{"a":"1","b":"2","c":"3","d":"4","e":"5"}}'
  // What stands between the colons of the body, as the eight values of an item.
  const parts = body.split(':')
  const item = {
    pspReference: parts[0],
    originalReference: parts[1],
    merchantAccountCode: parts[2],
    merchantReference: parts.slice(3, -4).join(':'),
    amount: { value: parts.at(-4), currency: parts.at(-3) },
    eventCode: parts.at(-2),
    success: parts.at(-1),
    additionalData: { hmacSignature: signatureOf(body) },
  }
  const forged = { live: 'true', notificationItems: [{ NotificationRequestItem: item }] }

  expect(await source.verify(post(body, { hmacsignature: signatureOf(body) }))).toMatchObject({
    ok: true,
  })
  expect(await source.verify(post(JSON.stringify(forged)))).toMatchObject({ ok: false })
})

test('R51: Contentful: what is no name of a header is none in the list of the signed ones', async () => {
  const secret = 'a1b2c3d4e5f60718'.repeat(4)
  const source = contentful({ secrets: [secret], publicUrl: PUBLIC_URL })
  const time = String(NOW.getTime())
  const names = ['x-contentful-signed-headers', 'x-contentful-timestamp']
  const deliver = (all: readonly string[], headers: Record<string, string>) => {
    const values: Record<string, string> = { ...headers, [names[0] ?? '']: all.join(',') }
    const lines = all.map((name) => `${name}:${values[name] ?? ''}`).join(';')
    const text = ['POST', '/in/source', lines, '{}'].join('\n')
    const signature = createHmac('sha256', secret).update(text).digest('hex')
    return post('{}', { ...values, 'x-contentful-signature': signature })
  }
  const usual = { 'x-contentful-timestamp': time }

  expect(await source.verify(deliver(names, usual))).toMatchObject({ ok: true })
  for (const name of ['a:b', 'x;y', 'x y', '']) {
    const all = [name, ...names].sort()
    expect(await source.verify(deliver(all, { ...usual, [name]: '1' }))).toEqual({
      ok: false,
      reason: 'malformed-header',
    })
  }
  // A line break would be read as the end of the headers.
  expect(
    await source.verify(deliver([...names, 'x-z'], { ...usual, 'x-z': '1\n{"a":1}' })),
  ).toMatchObject({ ok: false })
})

describe('R51: hmac, with a template of your own', () => {
  const options = {
    header: 'x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    secrets: [SECRET],
    key: 'header:x-id',
  } as const

  test.each([
    ['{header:x-id}.{body}', 'a.b', 'c'],
    ['{header:x-id}--{body}', 'a--b', 'c'],
    ['v1:{header:x-id}:{header:x-b}:{body}', 'a:b', 'c'],
    // With a text between that overlaps itself: `a` and `:c` make the same text.
    ['{header:x-id}::{body}', 'a:', 'c'],
    ['{body}::{header:x-id}', ':a', 'c'],
  ])('%s: a header with the text between in it is refused', async (signed, id, body) => {
    const source = hmac({ ...options, signed })
    const deliver = (value: string) => {
      const text = signed
        .replace('{header:x-id}', value)
        .replace('{header:x-b}', 'b')
        .replace('{body}', body)
      return post(body, { 'x-id': value, 'x-b': 'b', 'x-signature': sha256(text, 'hex') })
    }

    expect(await source.verify(deliver('a'))).toMatchObject({ ok: true })
    expect(await source.verify(deliver(id))).toEqual({ ok: false, reason: 'malformed-header' })
  })

  test('a header with nothing beside it can be read in two ways, and is warned of', () => {
    for (const signed of [
      '{header:x-id}{body}',
      '{body}{header:x-id}',
      '{header:a}{header:b}.{body}',
    ])
      expect(hmac({ ...options, signed }).warnings.join()).toContain('two ways')
    expect(hmac({ ...options, signed: '{header:x-id}.{body}' }).warnings).toEqual([])
    expect(hmac({ ...options, signed: '{body}.{header:x-id}' }).warnings).toEqual([])
  })
})

test('R51: PayPal: an id with the separator in it is refused', async () => {
  const one = await findCase('paypal')
  const provider = PROVIDERS.get('paypal')
  if (one === undefined || provider === undefined) throw new Error('no case')
  const { source, deliver } = makeSubject(provider, one)
  const id = { 'paypal-transmission-id': 'a|2025-10-09T08:53:20Z' }

  expect(await source.verify(deliver())).toMatchObject({ ok: true })
  expect(await source.verify(deliver({ headers: id }))).toEqual({
    ok: false,
    reason: 'malformed-header',
  })
})

test('R51: Mailgun: a time has ten digits, so that a token cannot lend it one', async () => {
  const one = await findCase('mailgun')
  const provider = PROVIDERS.get('mailgun')
  if (one === undefined || provider === undefined) throw new Error('no case')
  const { source, deliver } = makeSubject(provider, one)
  const captured = deliver({ type: 'delivered' })
  const { signature, ...rest } = JSON.parse(Buffer.from(captured.body).toString()) as {
    signature: { token: string; timestamp: string }
  }
  const text = signature.timestamp + signature.token

  for (const digits of [1, 5, 8, 9, 11, 12, 13]) {
    const timestamp = text.slice(0, digits)
    const body = { ...rest, signature: { ...signature, timestamp, token: text.slice(digits) } }
    const receivedAt = new Date(Number(timestamp) * 1000)
    const resplit = bareDelivery({ body: Buffer.from(JSON.stringify(body)), receivedAt })
    expect(await source.verify(resplit)).toMatchObject({ ok: false })
  }
})
