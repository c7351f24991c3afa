import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Amazon SNS',
  setUp: [
    'Name your topics in `topicArns`.',
    'Subscribe the URL of the source to the topic, with raw message delivery off. The confirmation is answered for you.',
  ],
  traps: [
    'The signature proves that SNS sent it, not that the topic is yours: without `topicArns` every customer of AWS can make events.',
    'SNS never retries after a 4xx.',
    'The certificate is fetched from `sns.<region>.amazonaws.com`, where the region has the shape of a region, and its chain must end at a root that Node trusts. SNS publishes it without the authority that signed it, so that one is fetched as well, from `crt.….amazontrust.com` over plain HTTP, once a day: let both through your firewall. To fetch nothing, give `certificate`; to pin the roots, `certificateRoots`.',
    'SignatureVersion 1 is SHA-1, for which two texts with one signature can be made with money. Set your topics to 2 (`aws sns set-topic-attributes --attribute-name SignatureVersion --attribute-value 2`), and then `signatureVersion` here.',
    'SNS delivers a message for an hour at most. What was published earlier is `quarantined`, kept and not run.',
    'Stricter than AWS’s libraries: exactly three types, no line break outside of `Message`, no `Subject` that is not text, and the chain of the certificate. With line breaks elsewhere, what was signed for a stranger’s topic could be read as a message of yours.',
    'Raw message delivery has no signature and cannot be used.',
    'A body whose outermost object has more than 1,000 members is refused before its signature is looked at.',
  ],
  exampleOptions: `topicArns: ['arn:aws:sns:eu-central-1:123456789012:orders'],`,
}
