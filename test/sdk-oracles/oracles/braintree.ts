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

async function gateway({ secret }: OracleKeys): Promise<Gateway> {
  const [publicKey = '', privateKey = ''] = secret.split('|')
  const { BraintreeGateway, Environment } = (await load<Sdk>('braintree')).default
  return new BraintreeGateway({
    environment: Environment.Sandbox,
    merchantId: 'a_merchant',
    publicKey,
    privateKey,
  })
}

export const ORACLE: SdkOracle = {
  slug: 'braintree',
  packages: ['braintree'],
  secrets: [
    'a_public_key|a_private_key_of_braintree_0001',
    'a_public_key|a_private_key_of_braintree_0002',
  ],
  fixtureOnly: 'a form: its signature is a field beside the payload',
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
