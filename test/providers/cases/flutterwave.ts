import { flutterwaveFixture } from '../../../src/testing/fixtures/flutterwave.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: flutterwaveFixture,
  // Whether it does so is not documented; it would be the same event.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace('wbk_Example0000000001', 'wbk_Example0000000002')
        .replace('"timestamp":1760000000000', '"timestamp":1760001800000'),
    }),
}
