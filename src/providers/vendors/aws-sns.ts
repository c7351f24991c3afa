/**
 * Amazon SNS: RSA over some members of the body, with a certificate from `sns.<region>.amazonaws.com`.
 *
 * The signature proves that SNS sent it, not that it is your topic: every customer of AWS may subscribe your
 * URL to a topic. So name your topics; others are refused, and only yours are confirmed.
 *
 * SNS never retries after a 4xx. What cannot be fetched now is therefore answered 503.
 *
 * @module
 */

import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { fetchOverTls } from '../../verify/fetch-over-tls.ts'
import { fetchText, isPinnedUrl } from '../../verify/fetch-text.ts'
import type { TextFetcher } from '../../verify/fetch-text.ts'
import { UnverifiedReading } from '../../body/json-path.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { rsaSignature } from '../schemes/rsa-signature.ts'
import type { CertificateOptions } from '../schemes/rsa-signature.ts'
import { withCheck } from '../schemes/with-check.ts'

/** `us-east-1`, `us-gov-west-1`. A stranger's bucket can be called `sns`, and be at `sns.s3-us-west-2`. */
const REGION = '[a-z]{2,4}(?:-[a-z]+)+-\\d{1,2}'
const SNS_HOST = new RegExp(`^sns\\.${REGION}\\.amazonaws\\.(?:com|com\\.cn|eu)$`)
/**
 * Which of these it is goes by the region. To the end: a stranger can have one for `sns.` and a domain of
 * the stranger's.
 */
const SNS_NAME = new RegExp(
  `^(?:sns|sns-${REGION}|sns\\.${REGION}|sns-signing\\.${REGION})\\.amazonaws\\.(?:com|com\\.cn|eu)$`,
)

/** Amazon SNS over HTTPS. A message is known by its topic and `MessageId`. */
export const awsSns: Provider<AwsSnsOptions, AwsSnsEvents> = defineProvider({
  provider: 'aws_sns',
  verify: withCheck(
    rsaSignature({
      signature: 'json:$.Signature',
      // When it was published. SNS delivers for an hour at most, retries and all.
      timestamp: {
        at: 'json:$.Timestamp',
        format: 'iso',
        toleranceSeconds: 3_600,
        aheadSeconds: 300,
        outside: 'quarantine',
      },
      encoding: 'base64',
      digest: ({ json }) => DIGESTS[json?.findText(['SignatureVersion']) ?? ''],
      certificate: {
        url: 'json:$.SigningCertURL',
        host: SNS_HOST,
        path: /^\/SimpleNotificationService-[A-Za-z0-9]+\.pem$/,
        subject: SNS_NAME,
        // SNS publishes its certificate without the authority's between it and the root.
        issuers: /^crt\.[a-z0-9-]+\.amazontrust\.com$|^cacerts\.digicert\.com$/,
      },
      signed: renderSigned,
    }),
    { check: findFault },
  ),
  options: {
    topicArns: {
      kind: 'texts',
      summary:
        'the topics that are yours: others are refused, and subscriptions of these are confirmed',
    },
    signatureVersion: {
      kind: 'text',
      values: ['2'],
      summary:
        "`'2'` to believe nothing that is signed with SHA-1; left out, both versions are believed. Your topics must be set to it",
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
      ? ['aws_sns has no topicArns: every customer of AWS can make events. Name your topics.']
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
  /**
   * `'2'` to believe nothing that is signed with SHA-1. Set your topics' `SignatureVersion` to 2 first: SNS
   * never sends again what was refused.
   *
   * @defaultValue both versions are believed
   */
  readonly signatureVersion?: '2'
}

const DIGESTS: Readonly<Record<string, 'sha1' | 'sha256' | undefined>> = {
  '1': 'sha1',
  '2': 'sha256',
}

const CONFIRMATION = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
]

/** What is signed of a message, by its type. There is no fourth. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['Notification', ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']],
  ['SubscriptionConfirmation', CONFIRMATION],
  ['UnsubscribeConfirmation', CONFIRMATION],
])

/**
 * Names and values, each on a line. The text of a message may have lines of its own, which its publisher
 * chose: with line breaks in any other value, what was signed for a topic of theirs could be read as a
 * message of yours. SNS allows none there. Read from its end, such a text has one meaning.
 */
function renderSigned({ json }: Reading): readonly Uint8Array[] | VerdictReason {
  const members = MEMBERS.get(json?.findValue(['Type']))
  if (json === undefined || members === undefined) return 'malformed-body'
  const lines: string[] = []
  for (const member of members) {
    const value = json.findValue([member])
    if (value === undefined && member === 'Subject') continue
    if (typeof value !== 'string') return 'malformed-body'
    if (member !== 'Message' && value.includes('\n')) return 'malformed-body'
    lines.push(`${member}\n${value}\n`)
  }
  return [Buffer.from(lines.join(''), 'utf8')]
}

/** Before the signature, so that nothing is fetched for the topics of strangers. */
function findFault(
  delivery: Delivery,
  { topicArns, signatureVersion }: Readonly<Record<string, unknown>>,
): VerdictReason | undefined {
  const { json } = new UnverifiedReading(delivery)
  const isOurs =
    topicArns === undefined ||
    (topicArns as readonly unknown[]).includes(json?.findValue(['TopicArn']))
  if (!isOurs) return 'bad-token'
  const isVersion =
    signatureVersion === undefined || json?.findText(['SignatureVersion']) === signatureVersion
  return isVersion ? undefined : 'bad-signature'
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
