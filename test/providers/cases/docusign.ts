import { docusignFixture } from '../../../src/testing/fixtures/docusign.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: docusignFixture,
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().replace('"retryCount":0', '"retryCount":12') }),
}
