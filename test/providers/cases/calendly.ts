import { calendlyFixture } from '../../../src/testing/fixtures/calendly.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: calendlyFixture,
  // As a second subscription of another user tells it.
  retryOf: ({ body }, resign) => {
    const event = JSON.parse(Buffer.from(body).toString()) as object
    return resign({
      body: {
        ...event,
        created_at: '2025-10-09T08:54:20.000000Z',
        created_by: 'https://api.calendly.com/users/EXAMPLE000000009',
      },
    })
  },
}
