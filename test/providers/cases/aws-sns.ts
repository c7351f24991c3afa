import { awsSnsFixture } from '../../../src/testing/fixtures/aws-sns.ts'
import type { ProviderCase } from '../every-provider.ts'

const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:example'

export const CASE: ProviderCase = {
  fixture: awsSnsFixture,
  uncovered: {
    bodyBytes: {
      why: 'only the values of some members are signed; the others decide nothing: a wrong version or certificate fails, and no other member is read',
      covers: isUnread,
    },
  },
  handshakes: [
    {
      name: 'a subscription of a topic that is ours is confirmed',
      options: {
        topicArns: [TOPIC],
        fetch: () => Promise.resolve({ ok: true, text: () => Promise.resolve('') }),
      },
      deliver: (signed) => signed({ type: 'SubscriptionConfirmation' }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'one that cannot be confirmed now is answered 503, so that it comes again',
      options: { topicArns: [TOPIC], fetch: () => Promise.reject(new Error('down')) },
      deliver: (signed) => signed({ type: 'SubscriptionConfirmation' }),
      answer: { status: 503 },
    },
    {
      name: 'one of another topic is refused',
      options: { topicArns: ['arn:aws:sns:eu-central-1:123456789012:other'] },
      deliver: (signed) => signed({ type: 'SubscriptionConfirmation' }),
      answer: 'refuse',
    },
  ],
}

/** The address of a certificate is not looked at where one is configured. */
function isUnread(body: string, at: number): boolean {
  const start = body.indexOf('"SigningCertURL"')
  return at >= start && at < body.indexOf('.pem"', start) + 5
}
