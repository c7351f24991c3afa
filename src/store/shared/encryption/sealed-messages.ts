/**
 * The part of a store that keeps messages, with what is sent and what was answered sealed.
 *
 * @module
 */

import type { MessageFailure, MessageRecord, MessageResponse } from '../../../model/message.ts'
import type { ClaimedMessage, MessageSettlement, MessageStore } from '../../contract/messages.ts'
import type { Cipher } from './cipher.ts'
import { places } from './places.ts'
import { attempt, openContent, sealContent, showText } from './seal-content.ts'

const NOTHING = new Uint8Array()

export function sealMessages<Tx>(cipher: Cipher, messages: MessageStore<Tx>): MessageStore<Tx> {
  return {
    ...messages,
    enqueue: (tx, drafts) =>
      messages.enqueue(
        tx,
        drafts.map((draft) => ({ ...draft, ...sealContent(cipher, draft, placesOf(draft)) })),
      ),
    claim: async (request) => {
      const claimed = await messages.claim(request)
      return claimed.map((message) => openClaimed(cipher, message))
    },
    settle: (settlements) =>
      messages.settle(settlements.map((settlement) => sealSettlement(cipher, settlement))),
    find: async (id) => {
      const record = await messages.find(id)
      return record && openMessageRecord(cipher, record)
    },
    read: async (ids) => {
      const records = await messages.read(ids)
      return records.map((record) => openMessageRecord(cipher, record))
    },
  }
}

function openClaimed(cipher: Cipher, message: ClaimedMessage): ClaimedMessage {
  const found = attempt(() => openContent(cipher, message, placesOf(message)))
  return 'opened' in found
    ? { ...message, ...found.opened }
    : { ...message, body: NOTHING, headers: {}, unreadable: found.unreadable }
}

/** A message as an operator sees it. What cannot be read is empty, or says so. */
export function openMessageRecord(cipher: Cipher, record: MessageRecord): MessageRecord {
  const { id, outcome } = record
  const found = attempt(() => openContent(cipher, record, placesOf(record)))
  return {
    ...record,
    ...('opened' in found ? found.opened : { body: NOTHING, headers: {} }),
    reason: showText(cipher, record.reason, places.sent(id, 'reason')),
    outcome: outcome && { ...outcome, response: showResponse(cipher, id, outcome.response) },
    failures: record.failures.map((failure) => ({
      ...failure,
      message: showText(cipher, failure.message, places.sent(id, 'message')),
      response: showResponse(cipher, id, failure.response),
    })),
  }
}

function placesOf(message: { readonly destination: string; readonly key: string }) {
  return { body: places.message(message, 'body'), headers: places.message(message, 'headers') }
}

function sealSettlement(cipher: Cipher, settlement: MessageSettlement): MessageSettlement {
  const { id } = settlement
  const sealReason = (reason: string): string => cipher.sealText(reason, places.sent(id, 'reason'))
  switch (settlement.state) {
    case 'sent':
      return { ...settlement, response: sealResponse(cipher, id, settlement.response) }
    case 'ready':
      return { ...settlement, failure: sealFailure(cipher, id, settlement.failure) }
    case 'dead': {
      const failure = sealFailure(cipher, id, settlement.failure)
      return { ...settlement, reason: sealReason(settlement.reason), failure }
    }
    case 'unknown': {
      const failure = settlement.failure && sealFailure(cipher, id, settlement.failure)
      return { ...settlement, reason: sealReason(settlement.reason), failure }
    }
    case 'given-back':
      return settlement
  }
}

function sealFailure(cipher: Cipher, id: string, failure: MessageFailure): MessageFailure {
  return {
    ...failure,
    message: cipher.sealText(failure.message, places.sent(id, 'message')),
    response: sealResponse(cipher, id, failure.response),
  }
}

function sealResponse(
  cipher: Cipher,
  id: string,
  response: MessageResponse | undefined,
): MessageResponse | undefined {
  return (
    response && {
      ...response,
      head: cipher.sealText(response.head, places.sent(id, 'head')),
      body: cipher.seal(response.body, places.sent(id, 'body')),
    }
  )
}

function showResponse(
  cipher: Cipher,
  id: string,
  response: MessageResponse | undefined,
): MessageResponse | undefined {
  if (response === undefined) return undefined
  const body = attempt(() => cipher.open(response.body, places.sent(id, 'body')))
  return {
    ...response,
    head: showText(cipher, response.head, places.sent(id, 'head')),
    body: 'opened' in body ? body.opened : NOTHING,
  }
}
