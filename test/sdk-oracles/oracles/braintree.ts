import { load } from '../oracle.ts'
import type { OracleKeys, SdkOracle } from '../oracle.ts'

interface Gateway {
  readonly webhookTesting: { sampleSignature(payload: string): string }
  readonly webhookNotification: { parse(signature: string, payload: string): Promise<object> }
}
interface Sdk {
  readonly default: {
    readonly BraintreeGateway: new (config: object) => Gateway
    readonly Environment: { readonly Sandbox: object }
  }
}

const PUBLIC_KEY = 'a_public_key'

async function gateway({ secret }: OracleKeys): Promise<Gateway> {
  const { BraintreeGateway, Environment } = (await load<Sdk>('braintree')).default
  return new BraintreeGateway({
    environment: Environment.Sandbox,
    merchantId: 'a_merchant',
    publicKey: PUBLIC_KEY,
    privateKey: secret,
  })
}

const XML =
  '<notification><timestamp type="datetime">2026-01-01T00:00:00Z</timestamp><kind>check</kind><subject><check type="boolean">true</check></subject></notification>'

export const ORACLE: SdkOracle = {
  slug: 'braintree',
  packages: ['braintree'],
  secrets: ['a_private_key_of_braintree_0001', 'a_private_key_of_braintree_0002'],
  sample: new URLSearchParams({
    bt_payload: `${Buffer.from(XML).toString('base64')}\n`,
  }).toString(),
  contentType: 'application/x-www-form-urlencoded',
  sampleOnly: 'a form: its signature is a field beside the payload',
  sign: async ({ body }, keys) => {
    const form = new URLSearchParams(body)
    const signature = (await gateway(keys)).webhookTesting.sampleSignature(
      form.get('bt_payload') ?? '',
    )
    form.set('bt_signature', signature)
    return { body: form.toString() }
  },
  verify: async ({ body }, keys) => {
    const form = new URLSearchParams(body)
    const { webhookNotification } = await gateway(keys)
    await webhookNotification.parse(form.get('bt_signature') ?? '', form.get('bt_payload') ?? '')
    return true
  },
}
