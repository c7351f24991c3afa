import { woocommerceFixture } from '../../../src/testing/fixtures/woocommerce.ts'
import type { ProviderCase } from '../every-provider.ts'

const WHY = 'not signed; the same bytes under another identity are quarantined'

export const CASE: ProviderCase = {
  fixture: woocommerceFixture,
  uncovered: {
    headers: {
      'x-wc-webhook-source': WHY,
      'x-wc-webhook-topic': WHY,
      'x-wc-webhook-delivery-id': 'not signed; part of no key but that of an action',
    },
  },
  handshakes: [
    {
      name: 'the ping of a new webhook is answered',
      deliver: () => ({ body: Buffer.from('webhook_id=3') }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'a form with more in it is refused',
      deliver: () => ({ body: Buffer.from('webhook_id=3&id=727') }),
      answer: 'refuse',
    },
    {
      name: 'a ping that claims to be signed is judged by its signature',
      deliver: () => ({
        body: Buffer.from('webhook_id=3'),
        headers: { 'x-wc-webhook-signature': 'cImHLDAi3LXQ2Ob5Gd0DKbNsKvHL55hjEikGrNEjDcY=' },
      }),
      answer: 'refuse',
    },
  ],
}
