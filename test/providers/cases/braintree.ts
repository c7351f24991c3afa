import { braintreeFixture } from '../../../src/testing/fixtures/braintree.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: braintreeFixture,
  configuration: configure('a_public_key|a_private_key'),
  otherConfiguration: configure('a_public_key|another_private_key'),
  uncovered: {
    sameText: {
      why: 'two fields are read, and the payload is signed, whose last line break may be missing; no other field is looked at',
      signed: (body) => (new URLSearchParams(body).get('bt_payload') ?? '').replace(/\n$/, ''),
    },
  },
  // Signed with a second key that was added meanwhile.
  retryOf: (_, resign) => {
    const retry = resign({})
    const form = Buffer.from(retry.body).toString()
    const added = `bt_signature=other_key%7C${'0'.repeat(40)}%26`
    return { ...retry, body: Buffer.from(form.replace('bt_signature=', added)) }
  },
  handshakes: [
    {
      name: 'the challenge is signed',
      deliver: () => ({ method: 'GET', url: '/?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53' }),
      options: { secrets: ['integration_public_key|integration_private_key'] },
      answer: {
        status: 200,
        body: 'integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4',
      },
    },
    {
      name: 'of two keys it is the one that is live',
      deliver: () => ({ method: 'GET', url: '/?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53' }),
      options: {
        secrets: [
          { value: 'old_public_key|old_private_key', label: 'old', until: new Date(0) },
          'integration_public_key|integration_private_key',
        ],
      },
      answer: {
        status: 200,
        body: 'integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4',
      },
    },
    {
      name: 'a challenge that is no hex is refused',
      deliver: () => ({ method: 'GET', url: '/?bt_challenge=PG5vdGlmaWNhdGlvbj4' }),
      answer: 'refuse',
    },
    {
      name: 'a challenge that is too long is refused',
      deliver: () => ({ method: 'GET', url: `/?bt_challenge=${'a'.repeat(33)}` }),
      answer: 'refuse',
    },
    {
      name: 'a GET that asks nothing is refused',
      deliver: () => ({ method: 'GET' }),
      answer: 'refuse',
    },
  ],
}

function configure(secret: string) {
  return { options: { secrets: [secret] }, credentials: { secret } }
}
