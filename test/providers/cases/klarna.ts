import { klarnaFixture } from '../../../src/testing/fixtures/klarna.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: klarnaFixture,
  // By way of another subscription, in another request.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace(':webhook:120e5b7e', ':webhook:220e5b7e')
        .replace('"3223496a', '"4223496a'),
    }),
}
