import { telegramFixture } from '../../../src/testing/fixtures/telegram.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: telegramFixture,
  uncovered: {
    body: 'nothing is signed; a person with the token may say anything, and TLS keeps it',
  },
}
