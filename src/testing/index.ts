/** The public kit for tests. */

export { signedDelivery } from './signed-delivery.ts'
export type {
  SignedDeliveryOptions,
  SignedHmacDeliveryOptions,
  SignedProvider,
} from './signed-delivery-options.ts'
