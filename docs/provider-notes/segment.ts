import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Segment',
  setUp: [
    'Add a Webhook destination with the URL of the source and a shared secret.',
    'For batches, have it send an `authorization` header with a long random value, and give that value as `authorization`.',
  ],
  traps: [
    'Of a batch only the first event is signed. Without `authorization` the others are quarantined, because a person who has seen one signed event could have put them there.',
    'A mapping that drops `messageId` leaves events without a key: they are quarantined.',
    'Segment drops an event that gets a 4xx: look for refusals in the log after a change of the secret.',
    'Batches may be grouped otherwise in a retry; every event is stored by itself.',
  ],
  key: '`messageId`, within the project',
  type: '`type`, and for `track` the name of the event: `track.Order Completed`',
  exampleOptions: `authorization: process.env['SEGMENT_AUTHORIZATION'] ?? '',`,
}
