/**
 * Amazon SNS: RSA over some members of the body, with a certificate from `sns.<region>.amazonaws.com`.
 *
 * The signature proves that SNS sent it, not that it is your topic: anybody may subscribe your URL to a
 * topic of theirs. So name your topics; others are refused, and only yours are confirmed.
 *
 * SNS never retries after a 4xx. What cannot be fetched now is therefore answered 503.
 *
 * @module
 */

import type { VerdictReason } from '../model/source.ts'
import { fetchOverTls } from '../verify/fetch-over-tls.ts'
import { fetchText, isPinnedUrl } from '../verify/fetch-text.ts'
import type { TextFetcher } from '../verify/fetch-text.ts'
import { Reading } from '../verify/json-path.ts'
import { defineProvider } from './define-provider.ts'
import type { Provider } from './define-provider.ts'
import { emptyAnswer } from './handshake.ts'
import type { HandshakeContext } from './handshake.ts'
import { rsaSignature } from './schemes/rsa-signature.ts'
import type { CertificateOptions } from './schemes/rsa-signature.ts'
import type { Verification } from './schemes/verification.ts'

const SNS_HOST = /^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(\.cn)?$/
/** To its end: anybody can have a certificate for `sns.` and a domain of theirs. */
const SNS_NAME = /^sns\.(?:[a-z0-9-]{3,30}\.)?amazonaws\.com(?:\.cn)?$/

/** Amazon SNS over HTTPS. A message is known by its topic and `MessageId`. */
export const awsSns: Provider<AwsSnsOptions, AwsSnsEvents> = defineProvider({
  provider: 'aws_sns',
  verify: ofOwnTopics(
    rsaSignature({
      signature: 'json:$.Signature',
      encoding: 'base64',
      digest: ({ json }) => DIGESTS[json?.findText(['SignatureVersion']) ?? ''],
      certificate: {
        url: 'json:$.SigningCertURL',
        host: SNS_HOST,
        path: /^\/SimpleNotificationService-[A-Za-z0-9]+\.pem$/,
        subject: SNS_NAME,
      },
      signed: renderSigned,
    }),
  ),
  options: {
    topicArns: {
      kind: 'texts',
      summary:
        'the topics that are yours: others are refused, and subscriptions of these are confirmed',
    },
  },
  handshake: {
    summary:
      'a signed `SubscriptionConfirmation`; confirmed by a GET of its `SubscribeURL` for the topics in `topicArns`, kept as an event without them',
    when: ['json:$.Type', 'SubscriptionConfirmation'],
    signed: true,
    answer: confirmSubscription,
  },
  key: { all: ['json:$.TopicArn', 'json:$.MessageId'] },
  type: 'json:$.Type',
  occurredAt: 'json:$.Timestamp',
  retryWindowHours: 1,
  timeoutSeconds: 15,
  warnings: ({ topicArns }) =>
    topicArns === undefined
      ? ['aws_sns has no topicArns: whoever has a topic at AWS can make events. Name your topics.']
      : [],
})

/** What an event of Amazon SNS carries, as far as it is typed here. */
export interface AwsSnsPayload {
  readonly Type: string
  readonly MessageId: string
  readonly TopicArn: string
  readonly Message: string
  readonly Subject?: string
  /** ISO 8601. */
  readonly Timestamp: string
  readonly SubscribeURL?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly MessageAttributes?: Record<string, any>
}

/** The payloads of Amazon SNS by event type. Give `awsSns` a map of your own for exact ones. */
export type AwsSnsEvents = Readonly<Record<string, AwsSnsPayload>>

/** What `awsSns` is configured with. */
export interface AwsSnsOptions extends CertificateOptions {
  /** Your topics. Without them every topic of every AWS account is believed, which is warned about. */
  readonly topicArns?: readonly string[]
}

const DIGESTS: Readonly<Record<string, 'sha1' | 'sha256' | undefined>> = {
  '1': 'sha1',
  '2': 'sha256',
}

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

function renderSigned({ json }: Reading): readonly Uint8Array[] | VerdictReason {
  if (json === undefined) return 'malformed-body'
  const members = json.findValue(['Type']) === 'Notification' ? NOTIFICATION : CONFIRMATION
  const lines: string[] = []
  for (const member of members) {
    const value = json.findValue([member])
    if (typeof value === 'string') lines.push(`${member}\n${value}\n`)
    else if (member !== 'Subject') return 'malformed-body'
  }
  return [Buffer.from(lines.join(''), 'utf8')]
}

function ofOwnTopics(verification: Verification): Verification {
  return {
    ...verification,
    build(context) {
      const built = verification.build(context)
      const topicArns = context.options['topicArns'] as readonly string[] | undefined
      return {
        ...built,
        async verify(delivery) {
          const verdict = await built.verify(delivery)
          if (!verdict.ok || topicArns === undefined) return verdict
          const topic = new Reading(delivery).json?.findText(['TopicArn']) ?? ''
          return topicArns.includes(topic) ? verdict : { ok: false, reason: 'bad-token' }
        },
      }
    },
  }
}

async function confirmSubscription({ find, options }: HandshakeContext) {
  if (options['topicArns'] === undefined) return undefined
  const url = find('json:$.SubscribeURL')
  if (!isPinnedUrl(url, SNS_HOST)) return 'refuse'
  const fetcher = (options['fetch'] as TextFetcher | undefined) ?? fetchOverTls
  try {
    await fetchText(fetcher, url, AbortSignal.timeout(5_000))
    return emptyAnswer()
  } catch {
    // SNS asks again after a 5xx, and never after a 4xx.
    return { status: 503, headers: { 'retry-after': '5' }, body: '' }
  }
}
