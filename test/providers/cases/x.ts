import { createHmac } from 'node:crypto'
import { xFixture } from '../../../src/testing/fixtures/x.ts'
import type { ProviderCase } from '../every-provider.ts'

const SECRET = 'z3ZX4v7mAAUGykl2EcmkqbVmuW8VdcFrNowZSGrGwE'
const OTHER = 'another-consumer-secret'
const FORGED = '{"for_user_id":"1","tweet_create_events":[{"id_str":"2"}]}'
const responseTo = (token: string) =>
  `sha256=${createHmac('sha256', SECRET).update(token).digest('base64')}`

export const CASE: ProviderCase = {
  fixture: xFixture,
  configuration: { options: { secrets: [SECRET] }, credentials: { secret: SECRET } },
  otherConfiguration: { options: { secrets: [OTHER] }, credentials: { secret: OTHER } },
  // What stands beside the events is of the request, not of the event.
  batch: (keys, at) => ({
    for_user_id: '4337869213',
    direct_message_events: keys.map((id) => ({
      type: 'message_create',
      id,
      created_timestamp: String(at.getTime()),
      message_create: { sender_id: '3001969357', message_data: { text: 'Hello' } },
    })),
    users: { '3001969357': { status: `wrote ${keys.join(' and ')}` } },
  }),
  handshakes: [
    {
      name: 'a challenge is answered with its HMAC',
      deliver: () => ({ method: 'GET', url: '/?crc_token=NWI5ODY1ZTctZmJj&nonce=abc' }),
      answer: {
        status: 200,
        body: JSON.stringify({ response_token: responseTo('NWI5ODY1ZTctZmJj') }),
      },
    },
    {
      name: 'a challenge that is a body is refused: its answer would be the signature',
      deliver: () => ({ method: 'GET', url: `/?crc_token=${encodeURIComponent(FORGED)}` }),
      answer: 'refuse',
    },
    {
      name: 'the answer to a challenge signs no body',
      deliver: () => ({
        headers: { 'x-twitter-webhooks-signature': responseTo('1234') },
        body: Buffer.from('1234'),
      }),
      answer: 'refuse',
    },
    {
      name: 'a GET that asks nothing is refused',
      deliver: () => ({ method: 'GET' }),
      answer: 'refuse',
    },
  ],
}
