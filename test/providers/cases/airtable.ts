import { airtableFixture } from '../../../src/testing/fixtures/airtable.ts'
import type { ProviderCase } from '../every-provider.ts'

const configure = (secret: string) => ({ options: { secrets: [secret] }, credentials: { secret } })

export const CASE: ProviderCase = {
  fixture: airtableFixture,
  configuration: configure('YWlydGFibGUtbWFjLXNlY3JldC0zMi1ieXRlcy1sb25n'),
  otherConfiguration: configure('YW5vdGhlci1haXJ0YWJsZS1zZWNyZXQtb2YtMzItYnl0'),
}
