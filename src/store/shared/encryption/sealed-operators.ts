/**
 * The parts of a store for operators, who look at events and decide about them: what is sealed is opened for them.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type { OnceStore } from '../../contract/once.ts'
import type { OperatorStore } from '../../contract/operators.ts'
import type { Cipher } from './cipher.ts'
import { openRecord } from './open-events.ts'
import { places } from './places.ts'
import { sealTextOf } from './seal-content.ts'

/** A request as it is stored, and the event that was asked for. */
export interface StoredRequest {
  readonly body: Uint8Array
  readonly source: string
  /** What it is kept under; `undefined` where the event's own body is all of it. */
  readonly requestId: EventId | undefined
}

/** The bytes that came. @throws UnreadableError */
export function openRequest(
  cipher: Cipher | undefined,
  eventId: EventId,
  stored: StoredRequest | undefined,
): Uint8Array | undefined {
  if (stored === undefined || cipher === undefined) return stored?.body
  const { body, source, requestId } = stored
  const place =
    requestId === undefined
      ? places.eventBody(eventId, source)
      : places.requestBody(requestId, source)
  return cipher.open(body, place)
}

export function sealOperators(cipher: Cipher, operators: OperatorStore): OperatorStore {
  return {
    ...operators,
    findEvent: async (id) => {
      const record = await operators.findEvent(id)
      return record && openRecord(cipher, record)
    },
    listEventsByKey: async (...asked) => {
      const records = await operators.listEventsByKey(...asked)
      return records.map((record) => openRecord(cipher, record))
    },
    listDead: async (page) => {
      const records = await operators.listDead(page)
      return records.map((record) => openRecord(cipher, record))
    },
    act: (request) => {
      const { replay, eventId } = request
      if (replay?.body === undefined) return operators.act(request)
      const body = cipher.seal(replay.body, places.runBody(eventId))
      return operators.act({ ...request, replay: { ...replay, body } })
    },
    listRuns: async (id, page) => {
      const runs = await operators.listRuns(id, page)
      return runs.map((run) =>
        run.body === undefined ? run : { ...run, body: cipher.open(run.body, places.runBody(id)) },
      )
    },
  }
}

/** What is stored of a call is sealed where its id is made (`createStoreOnce`). */
export function sealOnce<Tx>(cipher: Cipher, once: OnceStore<Tx>): OnceStore<Tx> {
  return {
    ...once,
    claim: async (...asked) => {
      const claim = await once.claim(...asked)
      if (claim.status !== 'known' || claim.result === undefined) return claim
      const place = places.outcome(claim.eventId, 'result')
      return { ...claim, result: cipher.openText(claim.result, place) }
    },
    finish: (tx, eventId, done) => {
      const result = sealTextOf(cipher, done.result, places.outcome(eventId, 'result'))
      return once.finish(tx, eventId, { ...done, result })
    },
  }
}
