import { hubspotFixture } from '../../../src/testing/fixtures/hubspot.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: hubspotFixture,
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('"attemptNumber":0', '"attemptNumber":10'),
    }),
  batch: (keys, at) =>
    keys.map((key) => ({
      eventId: Number(key),
      subscriptionId: 25,
      portalId: 33,
      occurredAt: at.getTime(),
      subscriptionType: 'contact.creation',
      // A group that does not begin with the first is a retry.
      attemptNumber: keys[0]?.endsWith('2') === true ? 0 : 1,
      objectId: 1246965,
    })),
}
