import { load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Item {
  readonly additionalData?: Readonly<Record<string, string>>
}
interface Notification {
  readonly notificationItems: readonly { readonly NotificationRequestItem: Item }[]
}
type HmacValidator = new () => {
  calculateHmac(item: Item, key: string): string
  validateHMAC(item: Item, key: string): boolean
}

const validator = async () => {
  const sdk = await load<Record<string, unknown>>('@adyen/api-library')
  return new (memberOf<HmacValidator>(sdk, 'hmacValidator'))()
}

export const ORACLE: SdkOracle = {
  slug: 'adyen',
  packages: ['@adyen/api-library'],
  secrets: [
    '44782DEF547AAA06C910C43932B1EB0C'.repeat(2),
    '0A1B2C3D4E5F60718293A4B5C6D7E8F9'.repeat(2),
  ],
  sample: {
    live: 'false',
    notificationItems: [
      {
        NotificationRequestItem: {
          additionalData: {},
          amount: { currency: 'EUR', value: 1130 },
          eventCode: 'AUTHORISATION',
          eventDate: '2026-01-01T01:00:00+02:00',
          merchantAccountCode: 'TestMerchant',
          merchantReference: 'TestPayment-1407325143704',
          pspReference: '7914073381342284',
          success: 'true',
        },
      },
    ],
  },
  tamper: (body) => body.replace(/("pspReference":")./, '$1X'),
  sampleOnly: 'the signature is a member of each item, over eight others',
  sign: async ({ body }, { secret }) => {
    const judge = await validator()
    const notification = JSON.parse(body) as Notification
    const notificationItems = notification.notificationItems.map(
      ({ NotificationRequestItem: item }) => {
        const { hmacSignature: _, ...more } = item.additionalData ?? {}
        const signature = judge.calculateHmac(item, secret)
        return {
          NotificationRequestItem: {
            ...item,
            additionalData: { ...more, hmacSignature: signature },
          },
        }
      },
    )
    return { body: JSON.stringify({ ...notification, notificationItems }) }
  },
  verify: async ({ body }, { secret }) => {
    const judge = await validator()
    const { notificationItems } = JSON.parse(body) as Notification
    return notificationItems.every(({ NotificationRequestItem: item }) =>
      judge.validateHMAC(item, secret),
    )
  },
}
