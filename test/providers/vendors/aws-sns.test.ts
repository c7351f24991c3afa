import { createSign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { awsSns } from '../../../src/providers/index.ts'
import { NOW, post } from '../bare-delivery.ts'
import { keyPair } from '../every-provider.ts'

const OURS = 'arn:aws:sns:eu-central-1:123456789012:orders'
const THEIRS = 'arn:aws:sns:eu-central-1:666666666666:evil'
const { publicKey, privateKey } = keyPair('rsa', 0)
const certificate = publicKey.export({ format: 'pem', type: 'spki' }).toString()
const source = awsSns({ certificate, topicArns: [OURS] })

type Message = Readonly<Record<string, unknown>>

const NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
const CONFIRMATION = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
]

/** What Amazon signs, by its documents: the names and values, each on a line of its own. */
function textOf(members: readonly string[], message: Message): string {
  return members
    .filter((name) => name in message)
    .map((name) => `${name}\n${String(message[name])}\n`)
    .join('')
}

function signatureOf(text: string, version = '2'): string {
  const algorithm = version === '2' ? 'RSA-SHA256' : 'RSA-SHA1'
  return createSign(algorithm).update(text).sign(privateKey, 'base64')
}

function deliver(message: Message, signature: string, version = '2') {
  const rest = { SignatureVersion: version, Signature: signature }
  return post(JSON.stringify({ ...message, ...rest }))
}

/** A message that every customer of AWS can have signed. */
const theirs = (text: string) => ({
  Type: 'Notification',
  MessageId: '00000000-0000-4000-8000-000000000000',
  TopicArn: THEIRS,
  Message: text,
  Timestamp: NOW.toISOString(),
})

const ours = {
  Type: 'Notification',
  MessageId: '11111111-0000-4000-8000-000000000000',
  TopicArn: OURS,
  Message: 'two\nlines',
  Subject: 'Hello',
  Timestamp: NOW.toISOString(),
}

describe('R51: text that was signed for another topic', () => {
  test('is not read as a message of ours with a type of its own', async () => {
    const forged = {
      Message: 'pay',
      MessageId: 'forged',
      SubscribeURL: 'u',
      Timestamp: NOW.toISOString(),
      Token: 't',
      TopicArn: OURS,
    }
    const published = theirs(textOf(CONFIRMATION, { ...forged, Type: 'x' }).slice(8))
    const text = textOf(NOTIFICATION, published)
    const type = text.slice(textOf(CONFIRMATION, forged).length + 'Type\n'.length, -1)
    // The same text, read in two ways.
    expect(textOf(CONFIRMATION, { ...forged, Type: type })).toBe(text)

    expect(await source.verify(deliver({ ...forged, Type: type }, signatureOf(text)))).toEqual({
      ok: false,
      reason: 'malformed-body',
    })
  })

  test('is not read as a message of ours, wherever its lines are taken apart', async () => {
    const names = [...new Set([...NOTIFICATION, ...CONFIRMATION])]
    const line = fc.constantFrom(...names, OURS, 'Notification', 'SubscriptionConfirmation', 'x')
    // Mostly what an attacker would write: the lines of a whole message of ours.
    const whole = fc
      .constantFrom(NOTIFICATION, CONFIRMATION)
      .map((members) =>
        members.flatMap((name) => [name, name === 'TopicArn' ? OURS : 'x']).slice(1),
      )
    const lines = fc.oneof(whole, fc.array(line, { maxLength: 16 }))
    await fc.assert(
      fc.asyncProperty(
        lines,
        fc.constantFrom(...NOTIFICATION.slice(5), 'SubscriptionConfirmation', 'x'),
        fc.nat(),
        async (published, type, choice) => {
          const text = textOf(NOTIFICATION, theirs(published.join('\n')))
          const signature = signatureOf(text)
          const ways = [NOTIFICATION, withoutSubject(NOTIFICATION), CONFIRMATION].flatMap(
            (members) => listReadings(text, members),
          )
          for (const message of ways.slice(choice % 7)) {
            for (const read of [message, { ...message, Type: type }]) {
              const { ok } = await source.verify(deliver(read, signature))
              expect(ok).toBe(false)
            }
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each(['Type', 'MessageId', 'Subject', 'Timestamp', 'TopicArn'])(
    'a line break in %s is refused, though AWS signed it',
    async (name) => {
      const message = { ...ours, [name]: `${ours[name as keyof typeof ours]}\nx` }

      expect(
        await source.verify(deliver(message, signatureOf(textOf(NOTIFICATION, message)))),
      ).toMatchObject({ ok: false })
    },
  )

  test.each([[['Hello']], [5], [null], [{ a: 1 }]])(
    'a subject that is no text is not signed, and refused: %j',
    async (subject) => {
      const { Subject: _, ...rest } = ours
      const signature = signatureOf(textOf(NOTIFICATION, rest))

      expect(await source.verify(deliver(rest, signature))).toMatchObject({ ok: true })
      expect(await source.verify(deliver({ ...rest, Subject: subject }, signature))).toEqual({
        ok: false,
        reason: 'malformed-body',
      })
    },
  )

  test.each(['Notification', 'UnsubscribeConfirmation', 'Other', 'notification', 'toString', ''])(
    'of the three types and no other is a message: %j',
    async (type) => {
      const all = { ...ours, SubscribeURL: 'u', Token: 't', Type: type }
      const members = type === 'Notification' ? NOTIFICATION : CONFIRMATION
      const isType = ['Notification', 'UnsubscribeConfirmation'].includes(type)

      expect(await source.verify(deliver(all, signatureOf(textOf(members, all))))).toMatchObject({
        ok: isType,
      })
    },
  )
})

describe('R52: where SNS’s certificate comes from', () => {
  const ask = async (url: string, topic = OURS) => {
    const asked: string[] = []
    const fetching = awsSns({
      topicArns: [OURS],
      fetch: (address) => {
        asked.push(address)
        return Promise.resolve({ ok: true, text: () => Promise.resolve(certificate) })
      },
    })
    const message = { ...ours, TopicArn: topic, SigningCertURL: url }
    await fetching.verify(deliver(message, signatureOf(textOf(NOTIFICATION, message))))
    return asked
  }
  const FILE = 'SimpleNotificationService-0123456789abcdef.pem'

  test.each([
    'sns.us-east-1.amazonaws.com',
    'sns.ap-southeast-7.amazonaws.com',
    'sns.us-gov-west-1.amazonaws.com',
    'sns.cn-northwest-1.amazonaws.com.cn',
    'sns.eusc-de-east-1.amazonaws.eu',
  ])('%s is asked', async (host) => {
    expect(await ask(`https://${host}/${FILE}`)).toEqual([`https://${host}/${FILE}`])
  })

  test.each([
    'sns.s3-us-west-2.amazonaws.com',
    'sns.s3.amazonaws.com',
    'sns.s3-website-us-east-1.amazonaws.com',
    'sns.s3-external-1.amazonaws.com',
    'sns.us-east-1.s3.amazonaws.com',
    'sns.execute-api.amazonaws.com',
    'sns.us-east.amazonaws.com',
    'sns.1-1-1.amazonaws.com',
  ])('%s, which may be a stranger’s bucket, is not', async (host) => {
    expect(await ask(`https://${host}/${FILE}`)).toEqual([])
  })

  test('nothing is asked for the topic of a stranger', async () => {
    expect(await ask(`https://sns.us-east-1.amazonaws.com/${FILE}`, THEIRS)).toEqual([])
  })
})

describe('R52: SignatureVersion', () => {
  const signed = (version: string) =>
    deliver(ours, signatureOf(textOf(NOTIFICATION, ours), version), version)

  test('1 and 2 are believed unless 2 is asked for', async () => {
    const strict = awsSns({ certificate, topicArns: [OURS], signatureVersion: '2' })

    expect(await source.verify(signed('1'))).toMatchObject({ ok: true })
    expect(await source.verify(signed('2'))).toMatchObject({ ok: true })
    expect(await strict.verify(signed('1'))).toEqual({ ok: false, reason: 'bad-signature' })
    expect(await strict.verify(signed('2'))).toMatchObject({ ok: true })
  })

  test('can be asked for as 2 and nothing else', () => {
    expect(() => awsSns({ certificate, signatureVersion: '1' as '2' })).toThrow(
      expect.objectContaining({ option: 'aws_sns.signatureVersion' }),
    )
  })
})

function withoutSubject(members: readonly string[]): readonly string[] {
  return members.filter((name) => name !== 'Subject')
}

/** Every message whose members make up this text. */
function listReadings(text: string, members: readonly string[]): readonly Message[] {
  const [name, ...rest] = members
  if (name === undefined) return text === '' ? [{}] : []
  if (!text.startsWith(`${name}\n`)) return []
  const value = text.slice(name.length + 1)
  const ends = [...value.matchAll(/\n/g)].map(({ index }) => index)
  return ends.flatMap((end) =>
    listReadings(value.slice(end + 1), rest).map((others) => ({
      [name]: value.slice(0, end),
      ...others,
    })),
  )
}
