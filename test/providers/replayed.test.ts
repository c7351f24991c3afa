import { describe, expect, test } from 'vitest'
import { crc32 } from 'node:zlib'
import type { Delivery } from '../../src/model/delivery.ts'
import type { BelievedVerdict } from '../../src/model/source.ts'
import { mailgun, paypal, sanity, webflow } from '../../src/providers/index.ts'
import { draftEvents } from '../../src/receive/identity.ts'
import { makeSubject, sampleKey } from '../../src/testing/check-subject.ts'
import { sign } from '../../src/testing/index.ts'
import { openReceivingInbox } from '../support/receiving-inbox.ts'
import { withCrc32 } from '../support/with-crc32.ts'
import { NOW, post } from './bare-delivery.ts'
import { keyPair } from './every-provider.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

const SECRET = 'a-secret-of-some-length'
const DAY_S = 86_400

/** How old what is signed may be, and whether what is older is kept for a person. */
const WINDOWS: Readonly<Record<string, readonly [seconds: number, outside?: 'quarantine']>> = {
  anthropic: [300],
  aws_sns: [3_600, 'quarantine'],
  bigcommerce: [300],
  box: [600],
  calendly: [180],
  clerk: [300],
  contentful: [30],
  discord: [3_600, 'quarantine'],
  gitlab: [300],
  hubspot: [300],
  jira: [180],
  linear: [60],
  mailgun: [32_400],
  openai: [300],
  paddle: [300],
  paypal: [3 * DAY_S, 'quarantine'],
  plaid: [300],
  recurly: [300],
  resend: [300],
  sanity: [3_600, 'quarantine'],
  sendgrid: [DAY_S, 'quarantine'],
  slack: [300],
  standard_webhooks: [300],
  stripe: [300],
  svix: [300],
  twitch: [600],
  webflow: [300, 'quarantine'],
  workos: [180],
  zendesk: [1_800],
  zoom: [7_200, 'quarantine'],
}

/** In these the first scheme of two is signed and has no time. */
const UNTIMED_FIRST = ['jira']

describe('R54: a signed time has a window', () => {
  test('at every provider that signs one', () => {
    const timed = [...PROVIDERS].flatMap(([slug, { definition }]) => {
      const { toleranceSeconds } = definition.verify
      return toleranceSeconds === undefined ? [] : [[slug, toleranceSeconds]]
    })

    expect(Object.fromEntries(timed)).toEqual(
      Object.fromEntries(Object.entries(WINDOWS).map(([slug, [seconds]]) => [slug, seconds])),
    )
  })

  test.each(Object.entries(WINDOWS).filter(([slug]) => !UNTIMED_FIRST.includes(slug)))(
    '%s: what is older is refused, or kept where a retry may be old: %j',
    async (slug, [seconds, outside]) => {
      const one = await findCase(slug)
      const provider = PROVIDERS.get(slug)
      if (one === undefined || provider === undefined) throw new Error(`no case of ${slug}`)
      const { source, deliver, types } = makeSubject(provider, one)
      const { receive } = await openReceivingInbox({ source })
      const after = (s: number, n: number): Delivery => {
        const delivery = deliver({ type: types[0] ?? '', key: sampleKey(one.fixture, n) })
        return { ...delivery, receivedAt: new Date(delivery.receivedAt.getTime() + s * 1000) }
      }
      const late = await receive('source', after(seconds + 2, 1))

      expect(await receive('source', after(seconds - 2, 2))).toBe('accepted')
      expect(late).toBe(outside === 'quarantine' ? 'quarantined' : 'refused')
    },
  )

  test.each([
    ['webflow', webflow({ secrets: [SECRET] })],
    // Where the key is not signed, equal bytes are watched.
    ['sanity', sanity({ secrets: [SECRET] })],
  ] as const)(
    'and what is late never answers for the same event within it: %s',
    async (name, source) => {
      const { receive, inbox } = await openReceivingInbox({ source })
      // From here on what is committed is remembered.
      await inbox.start()
      const prompt = sign(name, { key: 'a', at: NOW }, { secret: SECRET })
      const late = { ...prompt, receivedAt: new Date(NOW.getTime() + 7_200_000) }

      expect(await receive('source', late)).toBe('quarantined')
      expect(await receive('source', late)).toBe('duplicate')
      expect(await receive('source', prompt)).toBe('accepted')

      // And on the way to the database, where equal deliveries share an answer.
      const other = sign(name, { key: 'b', at: NOW }, { secret: SECRET })
      const lateOther = { ...other, receivedAt: late.receivedAt }
      const outcomes = await Promise.all([receive('source', lateOther), receive('source', other)])
      expect(outcomes[1]).toBe('accepted')
    },
  )

  test('and what is late does not wake what is dead', () => {
    const source = webflow({ secrets: [SECRET] })
    const delivery = sign('webflow', { at: NOW }, { secret: SECRET })
    const [event] = source.identify(delivery)
    if (event === undefined) throw new Error('no event')
    const draft = (verdict: BelievedVerdict) =>
      draftEvents({ sourceName: 'source', source, delivery, verdict }, [event])[0]
    const quarantine = 'outside the time window'

    expect(draft({ ok: true, secret: '1' })).toMatchObject({ redelivery: 'retry' })
    expect(draft({ ok: true, secret: '1', quarantine })).toMatchObject({
      redelivery: 'count',
      quarantine,
    })
  })

  test('and one that is ahead of our clock is treated as one that is old', async () => {
    const source = paypal(PAYPAL)
    const { receive } = await openReceivingInbox({ source })
    const ahead = { ...capture('a'), receivedAt: new Date(NOW.getTime() - 600_000) }

    expect(await receive('source', ahead)).toBe('quarantined')
  })
})

const { publicKey, privateKey } = keyPair('rsa', 0)
const PAYPAL = {
  webhookId: '1JE4291016473214C',
  certificate: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
}

const capture = (key: string, at = NOW) =>
  sign('paypal', { key, at }, { privateKey, options: { webhookId: PAYPAL.webhookId } })

/** Another body with the same CRC-32, which is all that PayPal signs of it. */
function forge(captured: Delivery, id: string): Delivery {
  const body = { id, event_type: 'PAYMENT.CAPTURE.COMPLETED', resource: { amount: 'all of it' } }
  const text = withCrc32(JSON.stringify(body), crc32(captured.body))
  return { ...captured, body: Buffer.from(text) }
}

describe('R55: PayPal, which signs a CRC-32 of the body', () => {
  test('one captured request makes one event: another body is a conflict', async () => {
    const { receive, inbox } = await openReceivingInbox({ source: paypal(PAYPAL) })
    const captured = capture('WH-1')
    const forged = ['WH-2', 'WH-3', 'WH-4', 'WH-1'].map((id) => forge(captured, id))
    for (const one of forged) expect(await paypal(PAYPAL).verify(one)).toMatchObject({ ok: true })

    expect(await receive('source', captured)).toBe('accepted')
    for (const one of forged) expect(await receive('source', one)).toBe('conflict')

    // What was forged has not taken the key of the event that it names.
    expect(await receive('source', capture('WH-2'))).toBe('accepted')
    expect(await inbox.admin.countEvents()).toBe(6)
  })

  test('a request of years ago makes none', async () => {
    const { receive } = await openReceivingInbox({ source: paypal(PAYPAL) })
    const captured = { ...capture('WH-1', new Date('2020-06-01T00:00:00Z')), receivedAt: NOW }

    expect(await receive('source', captured)).toBe('quarantined')
    expect(await receive('source', captured)).toBe('duplicate')
    for (const id of ['WH-2', 'WH-3', 'WH-4'])
      expect(await receive('source', forge(captured, id))).toBe('conflict')
  })

  test('the same event in another transmission is a duplicate, and that transmission is good for no other', async () => {
    const { receive } = await openReceivingInbox({ source: paypal(PAYPAL) })
    const headers = { 'paypal-transmission-id': 'another' }
    const resent = sign(
      'paypal',
      { body: Buffer.from(capture('WH-1').body), headers, at: NOW },
      { privateKey, options: { webhookId: PAYPAL.webhookId } },
    )

    expect(await receive('source', capture('WH-1'))).toBe('accepted')
    expect(await receive('source', resent)).toBe('duplicate')
    expect(await receive('source', forge(resent, 'WH-2'))).toBe('conflict')
  })
})

describe('R55: Mailgun, which signs a time and a token', () => {
  const source = () => mailgun({ secrets: [SECRET] })
  const signed = (key: string, type = 'delivered') =>
    sign('mailgun', { key, type, at: NOW }, { secret: SECRET })
  const change = (delivery: Delivery, from: string, to: string): Delivery => {
    const text = Buffer.from(delivery.body).toString()
    if (!text.includes(from)) throw new Error(`no ${from} in it`)
    return { ...delivery, body: Buffer.from(text.replace(from, to)) }
  }

  test('a token that came with one event is a conflict with another, in every process', async () => {
    const { receive } = await openReceivingInbox({ one: source() })
    const captured = signed('first')

    expect(await receive('one', captured)).toBe('accepted')
    expect(await receive('one', change(captured, '"first"', '"forged"'))).toBe('conflict')
    expect(await receive('one', captured)).toBe('duplicate')
  })

  test('a stranger’s mail with the Message-Id of another does not shadow it', async () => {
    const { receive } = await openReceivingInbox({ source: source() })
    const mail = (subject: string, token: string) => {
      const delivery = signed('a', 'inbound')
      const fields = new URLSearchParams(Buffer.from(delivery.body).toString())
      fields.set('subject', subject)
      fields.set('token', token)
      return sign(
        'mailgun',
        { type: 'inbound', body: fields.toString(), at: NOW },
        { secret: SECRET },
      )
    }

    expect(await receive('source', mail('stranger', 'a'.repeat(50)))).toBe('accepted')
    expect(await receive('source', mail('the real one', 'b'.repeat(50)))).toBe('accepted')
    expect(await receive('source', mail('the real one', 'b'.repeat(50)))).toBe('duplicate')
    // Signed anew, as a retry may be.
    expect(await receive('source', mail('the real one', 'c'.repeat(50)))).toBe('duplicate')
    // The signature of one beside another, be it of the first delivery or of a retry.
    for (const letter of ['b', 'c']) {
      const captured = mail('the real one', letter.repeat(50))
      expect(await receive('source', change(captured, 'real', letter))).toBe('conflict')
    }
  })

  test('a field that is not there and one that is empty are told apart from a signature’s', () => {
    expect(source().identify(post('token=&timestamp=&signature='))[0]?.key).toBeUndefined()
  })
})
