import { postmarkFixture } from '../../../src/testing/fixtures/postmark.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: postmarkFixture,
  uncovered: {
    body: 'nothing is signed; a person with the password may say anything, and TLS keeps it',
  },
}
