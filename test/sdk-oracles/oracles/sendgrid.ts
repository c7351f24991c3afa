import { sign } from 'node:crypto'
import { header, load, memberOf, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type EventWebhook = new () => {
  convertPublicKeyToECDSA(publicKey: string): object
  verifySignature(publicKey: object, payload: string, signature: string, time: string): boolean
}

const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'

export const ORACLE: SdkOracle = {
  slug: 'sendgrid',
  packages: ['@sendgrid/eventwebhook'],
  keys: 'ec',
  sign: (request, { privateKey }) => {
    const signed = Buffer.from(seconds(request) + request.body, 'utf8')
    return {
      headers: {
        ...request.headers,
        [TIMESTAMP]: seconds(request),
        [SIGNATURE]: sign('sha256', signed, privateKey).toString('base64'),
      },
    }
  },
  verify: async (request, { publicKey }) => {
    const sdk = await load<Record<string, unknown>>('@sendgrid/eventwebhook')
    const judge = new (memberOf<EventWebhook>(sdk, 'EventWebhook'))()
    return judge.verifySignature(
      judge.convertPublicKeyToECDSA(publicKey.export({ format: 'pem', type: 'spki' }).toString()),
      request.body,
      header(request, SIGNATURE),
      header(request, TIMESTAMP),
    )
  },
}
