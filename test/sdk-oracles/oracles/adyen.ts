import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Item {
  readonly additionalData?: Readonly<Record<string, string>>
}
interface Notification {
  /** Of payments. The webhooks of platforms have none, and one signature in a header. */
  readonly notificationItems?: readonly { readonly NotificationRequestItem: Item }[]
}
type HmacValidator = new () => {
  calculateHmac(data: Item | string, key: string): string
  validateHMAC(item: Item, key: string): boolean
  validateHMACSignature(key: string, signature: string, body: string): boolean
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
  tamper: (body) => body.replace(/("(?:pspReference|balancePlatform)":")./, '$1X'),
  fixtureOnly: 'the signature is a member of each item, over eight others',
  sign: async ({ headers, body }, { secret }) => {
    const judge = await validator()
    const notification = JSON.parse(body) as Notification
    if (notification.notificationItems === undefined) {
      return { headers: { ...headers, hmacsignature: judge.calculateHmac(body, secret) } }
    }
    const notificationItems = notification.notificationItems.map(
      ({ NotificationRequestItem: item }) => {
        const { hmacSignature: _, ...more } = item.additionalData ?? {}
        const signature = judge.calculateHmac(item, secret)
        const additionalData = { ...more, hmacSignature: signature }
        return { NotificationRequestItem: { ...item, additionalData } }
      },
    )
    return { body: JSON.stringify({ ...notification, notificationItems }) }
  },
  verify: async (request, { secret }) => {
    const judge = await validator()
    const { notificationItems } = JSON.parse(request.body) as Notification
    if (notificationItems === undefined) {
      return judge.validateHMACSignature(secret, header(request, 'hmacsignature'), request.body)
    }
    return notificationItems.every(({ NotificationRequestItem: item }) =>
      judge.validateHMAC(item, secret),
    )
  },
}
