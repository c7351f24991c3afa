import { createHash } from 'node:crypto'
import type { Digest } from '../../../model/digest.ts'
import type { EventDraft } from '../../../model/event.ts'
import type { MessageDraft } from '../../../model/message.ts'
import { topicOf } from '../../../model/topic.ts'
import type { ClaimRequest } from '../../../store/contract/queue.ts'

export interface EventDraftInput extends Partial<Omit<EventDraft, 'body'>> {
  readonly body?: Uint8Array | string
}

/** What a draft that says nothing else of itself is known by. */
export const NAMED = { source: 'stripe', type: 'invoice.paid', key: 'evt_1' } as const

/**
 * A draft as the receive path would make it, naming only what the test is about. Its hashes follow
 * from source, key and body unless given. A content hash is set where `sameBytes` is not `run`.
 */
export function anEventDraft(input: EventDraftInput = {}): EventDraft {
  const { source = 'stripe', sameBytes = 'run', type = 'invoice.paid' } = input
  const key = 'key' in input ? input.key : 'evt_1'
  const body = asBytes(input.body ?? '{"amount":1}')
  const fingerprint = input.fingerprint ?? sha256(body)
  const keyHash = input.keyHash ?? sha256('key', source, key ?? fingerprint)
  return {
    headers: { 'content-type': 'application/json' },
    receivedAt: new Date('2026-01-02T03:04:05.678Z'),
    occurredAt: undefined,
    version: undefined,
    sequence: undefined,
    verifiedBy: 'secret-1',
    redelivery: 'retry',
    contentHash: sameBytes === 'run' ? undefined : sha256('content', source, fingerprint),
    quarantine: key === undefined ? 'no key' : undefined,
    request: undefined,
    ...input,
    source,
    key,
    type,
    sameBytes,
    body,
    fingerprint,
    keyHash,
  }
}

export interface ClaimInput extends Partial<Omit<ClaimRequest, 'topics'>> {
  /** Of each topic. */
  readonly limit?: number
  /** Sources and types; those of a draft unless given. */
  readonly of?: readonly (readonly [source: string, type: string])[]
}

/** A request for one worker's slot, for what `anEventDraft` makes unless it says for what. */
export function aClaim({ limit = 10, of = [DRAFTED], ...input }: ClaimInput = {}): ClaimRequest {
  return {
    slot: { workerId: 'worker-1', slot: 0 },
    kind: 'fresh',
    topics: of.map(([source, type]) => ({ topic: topicOf(source, type), limit })),
    enough: 1_000,
    fillsLanes: false,
    lockTimeoutMs: 0,
    idleTimeoutMs: 60_000,
    opensLate: 'never',
    ...input,
  }
}

/** What `anEventDraft` makes. */
export const DRAFTED = ['stripe', 'invoice.paid'] as const

function sha256(...parts: readonly (string | Uint8Array)[]): Digest {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = asBytes(part)
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return hash.digest('binary')
}

function asBytes(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? new TextEncoder().encode(value) : value
}

export function aMessageDraft(input: Partial<MessageDraft> = {}): MessageDraft {
  return {
    destination: 'receipts',
    key: 'key_1',
    body: Buffer.from('{"invoice":"in_1"}'),
    contentType: 'application/json',
    headers: {},
    delayMs: 0,
    eventId: undefined,
    ...input,
  }
}
