import type { EventId } from '../../model/event.ts'
import type { OnceClaim } from '../contract/once.ts'
import { firstValueOf } from './first-value.ts'

/**
 * What a claim has found, from the one text that both engines answer with: how a driver of the user's reads numbers,
 * booleans and bytes, and what its plugins make of names, is then of no account.
 */
export function readOnceAnswer(newId: EventId, rows: readonly unknown[]): OnceClaim {
  const answer = JSON.parse(firstValueOf(rows) as string) as Answer
  if (answer.owner === null) return { status: 'running' }
  if (answer.owner === newId) return { status: 'first', eventId: newId }
  return {
    status: 'known',
    eventId: answer.owner,
    fingerprint: Buffer.from(answer.fingerprint, 'hex').toString('latin1'),
    isDone: answer.state === 'done',
    result: answer.result ?? undefined,
  }
}

interface Answer {
  /** The event that has the key; `null` when that is not decided yet. */
  readonly owner: EventId | null
  /** As hex. */
  readonly fingerprint: string
  /** How its latest run ended; `null` when it has not. */
  readonly state: string | null
  readonly result: string | null
}
