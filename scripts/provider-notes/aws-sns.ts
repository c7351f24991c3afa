import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Amazon SNS',
  setUp: [
    'Name your topics in `topicArns`.',
    'Subscribe the URL of the source to the topic, with raw message delivery off. The confirmation is answered for you.',
  ],
  traps: [
    'The signature proves that SNS sent it, not that the topic is yours: without `topicArns` anybody with an AWS account can make events.',
    'SNS never retries after a 4xx.',
    'Raw message delivery has no signature and cannot be used.',
  ],
  exampleOptions: `topicArns: ['arn:aws:sns:eu-central-1:123456789012:orders'],`,
}
