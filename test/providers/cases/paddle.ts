import { paddleFixture } from '../../../src/testing/fixtures/paddle.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: paddleFixture,
  // A replay is another notification of the same event.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('ntf_01example', 'ntf_02example'),
      afterSeconds: 3_600,
    }),
}
