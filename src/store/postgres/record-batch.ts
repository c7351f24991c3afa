/**
 * Only PostgreSQL: on SQLite a batch is one transaction of the one writer (`sql/record-events.ts`).
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import { isSameContent } from '../../model/digest.ts'
import type { Recorded } from '../../model/event.ts'
import type { NumberedDraft } from '../shared/numbered-draft.ts'
import type { Connection } from './connection.ts'
import {
  asStoreError,
  DEFAULTS_REFUSED,
  findSqlState,
  isRetryable,
  isTransactionTimeout,
} from './store-error.ts'
import { inTransaction, milliseconds } from './transaction.ts'
import { answersOf, isSeparable, recordEvents } from './sql/record-events.ts'
import { KeyVanished } from './sql/record-known.ts'
import { recordNewAtOnce } from './sql/record-new.ts'
import type { KeyOwner, UnsettledDraft } from './sql/record-new.ts'

const RETRIES_MAX = 5

type Connect = (timeoutMs: number) => Promise<Connection>

export class BatchRecorder {
  readonly #connect: Connect
  #mayCommitAtOnce = true

  constructor(connect: Connect) {
    this.#connect = connect
  }

  /**
   * Stores a batch before the deadline, again after a deadlock.
   *
   * One round trip when everything in it is new or a plain duplicate, as nearly always: a call that commits by
   * itself. The rest is looked at in a transaction of its own, after the others are committed. If we crash in
   * between, the sender has no answer for those and sends them again.
   */
  async record(drafts: readonly NumberedDraft[], deadlineMs: number): Promise<readonly Recorded[]> {
    const deadlineAt = performance.now() + deadlineMs
    const rest =
      this.#mayCommitAtOnce && isSeparable(drafts)
        ? await this.#recordAtOnce(drafts, deadlineAt)
        : undefined
    if (rest === undefined) return recordInTransaction(this.#connect, drafts, deadlineAt)

    const answers = answersOf(drafts)
    const unclear: UnsettledDraft[] = []
    for (const one of rest) {
      if (isPlainDuplicate(one))
        answers[one.at] = { status: 'duplicate', eventId: one.owner.eventId }
      else unclear.push(one)
    }
    if (unclear.length === 0) return answers
    const known = await recordInTransaction(this.#connect, unclear, deadlineAt)
    unclear.forEach(({ at }, index) => (answers[at] = known[index] as Recorded))
    return answers
  }

  /** Stores what is new and returns the rest; `undefined` where nothing could be stored this way. */
  async #recordAtOnce(
    drafts: readonly NumberedDraft[],
    deadlineAt: number,
  ): Promise<readonly UnsettledDraft[] | undefined> {
    const timeoutMs = deadlineAt - performance.now()
    const connection = await this.#connect(timeoutMs)
    try {
      if (connection.tellsStatus)
        return await recordNewAtOnce(connection, drafts, milliseconds(timeoutMs + 100))
      this.#mayCommitAtOnce = false
      return undefined
    } catch (error) {
      const state = findSqlState(error) ?? ''
      if (isTransactionTimeout(error)) this.#mayCommitAtOnce = false
      if (DEFAULTS_REFUSED.has(state)) this.#mayCommitAtOnce = false
      else if (!isRetryable(error)) throw asStoreError(error)
      return undefined
    } finally {
      connection.returnToPool()
    }
  }
}

/** The same content under the same key, and no dead event that is to run again. */
function isPlainDuplicate(one: UnsettledDraft): one is UnsettledDraft & { owner: KeyOwner } {
  const { draft, owner } = one
  return (
    owner !== undefined &&
    isSameContent(owner.fingerprint, draft.fingerprint) &&
    !(owner.isDead && draft.redelivery === 'retry')
  )
}

async function recordInTransaction(
  connect: Connect,
  drafts: readonly NumberedDraft[],
  deadlineAt: number,
): Promise<readonly Recorded[]> {
  let hasVanished = false
  for (let retries = 0; ; retries += 1) {
    try {
      return await recordOnce(connect, drafts, deadlineAt - performance.now())
    } catch (error) {
      if (error instanceof KeyVanished) {
        if (hasVanished)
          throw new StoreUnavailableError(
            'A key was dropped twice while its event was being stored',
          )
        hasVanished = true
      } else if (!isRetryable(error) || retries >= RETRIES_MAX) {
        throw asStoreError(error)
      }
    }
  }
}

async function recordOnce(
  connect: Connect,
  drafts: readonly NumberedDraft[],
  timeoutMs: number,
): Promise<readonly Recorded[]> {
  const connection = await connect(timeoutMs)
  // The server gives up by itself a little after us, so that an abandoned batch does not hold keys for long.
  const limits = {
    statementTimeoutMs: timeoutMs + 100,
    lockTimeoutMs: 0,
    idleTimeoutMs: timeoutMs + 1_000,
  }
  return inTransaction(connection, limits, async () => recordEvents(connection, drafts))
}
