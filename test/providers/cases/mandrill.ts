import { createHmac } from 'node:crypto'
import { mandrillFixture } from '../../../src/testing/fixtures/mandrill.ts'
import type { ProviderCase } from '../every-provider.ts'
import { sortedFields } from '../sorted-fields.ts'

const EMPTY = Buffer.from('mandrill_events=%5B%5D')
const signedWith = (key: string, url: string) => ({
  'content-type': 'application/x-www-form-urlencoded',
  'x-mandrill-signature': createHmac('sha1', key)
    .update(`${url}mandrill_events[]`)
    .digest('base64'),
})

export const CASE: ProviderCase = {
  fixture: mandrillFixture,
  uncovered: {
    sameText: {
      why: 'the name and the value of its one field are signed with nothing between; under another name there are no events',
      signed: sortedFields,
    },
  },
  batch: (keys, at) => ({
    mandrill_events: JSON.stringify(
      keys.map((key) => ({
        event: 'send',
        _id: key,
        ts: Math.floor(at.getTime() / 1000),
        msg: { _id: key, email: 'someone@example.com' },
      })),
    ),
  }),
  handshakes: [
    {
      name: 'a HEAD gets 200',
      deliver: () => ({ method: 'HEAD' }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'an empty list under the key for tests gets 200',
      deliver: () => ({
        headers: signedWith('test-webhook', 'https://example.com/in/source'),
        body: EMPTY,
      }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'one for another URL is refused',
      deliver: () => ({
        headers: signedWith('test-webhook', 'https://example.com/in/other'),
        body: EMPTY,
      }),
      answer: 'refuse',
    },
    {
      name: 'the key for tests is good for nothing but an empty list',
      deliver: () => ({
        headers: signedWith('test-webhook', 'https://example.com/in/source'),
        body: Buffer.from('mandrill_events=%5B%7B%22event%22%3A%22send%22%7D%5D'),
      }),
      answer: 'refuse',
    },
  ],
}
