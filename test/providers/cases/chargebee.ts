import { chargebeeFixture } from '../../../src/testing/fixtures/chargebee.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: chargebeeFixture,
  uncovered: {
    body: 'nothing is signed; a person with the password may say anything, and TLS keeps it',
  },
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().replace('"scheduled"', '"re_scheduled"') }),
}
