import type { ClaimedMessage } from '../../src/store/contract/messages.ts'

/** A message as a relay has it that has just claimed it for the first time. */
export function aClaimedMessage(given: Partial<ClaimedMessage> = {}): ClaimedMessage {
  return {
    id: '01900000-0000-7000-8000-000000000001',
    destination: 'sink',
    key: 'key_1',
    body: Buffer.from('1'),
    contentType: 'application/json',
    headers: {},
    eventId: undefined,
    createdAt: new Date(),
    attempt: 1,
    takeovers: 0,
    token: '1',
    uncertainForMs: undefined,
    answer: undefined,
    sameAnswers: 0,
    ...given,
  }
}
