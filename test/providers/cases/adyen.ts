import { adyenFixture } from '../../../src/testing/fixtures/adyen.ts'
import type { ProviderCase } from '../every-provider.ts'

const SECRETS = ['0123456789ABCDEF'.repeat(4), 'FEDCBA9876543210'.repeat(4)] as const

export const CASE: ProviderCase = {
  fixture: adyenFixture,
  configuration: configure(SECRETS[0]),
  otherConfiguration: configure(SECRETS[1]),
  uncovered: {
    bodyBytes: {
      why: 'eight values of an item are signed, and those are all that identify it; the same item with others beside them is a conflict',
      covers: isUnsigned,
    },
  },
  batch: (keys, at) => ({
    live: 'false',
    notificationItems: keys.map((key) => ({
      NotificationRequestItem: {
        pspReference: key,
        merchantAccountCode: 'ExampleMerchant',
        merchantReference: 'order:1',
        amount: { value: 4200, currency: 'EUR' },
        eventCode: 'AUTHORISATION',
        success: 'true',
        eventDate: at.toISOString(),
      },
    })),
  }),
}

function configure(secret: string) {
  return { options: { secrets: [secret] }, credentials: { secret } }
}

const SIGNED =
  /"(?:pspReference|originalReference|merchantAccountCode|merchantReference|value|currency|eventCode|success|hmacSignature)":"?([^",}]+)/g

/** Outside of the signed values of an item. All of another webhook's body is signed. */
function isUnsigned(body: string, at: number): boolean {
  if (!body.includes('"notificationItems"')) return false
  return ![...body.matchAll(SIGNED)].some(({ 0: match, 1: value = '', index }) => {
    const end = index + match.length
    return at >= end - value.length && at < end
  })
}
