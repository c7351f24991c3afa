import { auth0Fixture } from '../../../src/testing/fixtures/auth0.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: auth0Fixture,
  uncovered: {
    body: 'nothing is signed; a person with the token may say anything, and TLS keeps it',
  },
  // A log stream as it is by default: a JSON text in each line.
  batch: (keys, at) =>
    keys
      .map((key) => JSON.stringify({ log_id: key, data: { type: 's', date: at.toISOString() } }))
      .join('\n'),
}
