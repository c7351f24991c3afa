import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Postmark',
  setUp: [
    'In the server’s message stream, under **Webhooks**, enter the URL of the source and basic authentication.',
    'Give `username` and `password`, or both as one secret: `username:password`.',
  ],
  traps: [
    'Nothing is signed. Where something hangs on an event, read it again through the API.',
    'Postmark gives up at once after a 403. A proxy in front of the source must not answer one.',
    'An inbound message comes with its attachments in base64, up to 35 MB of them. A lower `bodyBytesMax` answers 413, which Postmark retries in vain.',
    '`MessageID` is shared by all events of a message.',
  ],
  key: '`RecordType` and `ID`; else `RecordType`, `MessageID`, recipient, time and link; for inbound messages `MessageID`',
  type: '`RecordType`, or `Inbound`',
}
