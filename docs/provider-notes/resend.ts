import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Resend',
  setUp: [
    'In the dashboard, under **Webhooks**, add the URL of the source.',
    'Take its signing secret (`whsec_…`).',
  ],
  traps: [
    'The body has no id of the event. `data.email_id` is that of the email, which has many events and may have several of one type.',
    'A replay from the dashboard, also of a message that had arrived, keeps its `svix-id` and is a duplicate.',
  ],
}
