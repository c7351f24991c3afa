import { HookonceError } from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import { bytesOf } from '../store/contract.ts'
import type { ClaimedEvent, StoredBody } from '../store/contract.ts'
import { parsePayload } from './parse-payload.ts'
import { describeIssues } from './standard-schema.ts'
import type { StandardSchema } from './standard-schema.ts'

/**
 * The event as a handler gets it, its payload checked where the handler has a schema.
 *
 * @throws HookonceError `PAYLOAD_INVALID`
 */
export function createEnvelope(
  event: EnvelopeContent,
  schema: StandardSchema | undefined,
): WebhookEvent | Promise<WebhookEvent> {
  return schema === undefined ? new Envelope(event) : createChecked(event, schema)
}

async function createChecked(
  event: EnvelopeContent,
  schema: StandardSchema,
): Promise<WebhookEvent> {
  const envelope = new Envelope(event)
  const checked = await schema['~standard'].validate(envelope.payload)
  if (checked.issues === undefined) return new Envelope(event, checked.value)
  throw new HookonceError(
    'PAYLOAD_INVALID',
    `The payload is not what the schema expects: ${describeIssues(checked.issues)}`,
  )
}

/** What is put into an envelope; a claimed event has it, and so has one that is run without a store. */
export type EnvelopeContent = Pick<
  ClaimedEvent,
  'eventId' | 'source' | 'key' | 'type' | 'body' | 'headers' | 'receivedAt' | 'occurredAt'
>

/** The payload is parsed when it is first asked for, once per handler, so that no handler sees another's changes. */
class Envelope implements WebhookEvent {
  readonly id: string
  readonly source: string
  readonly key: string
  readonly type: string
  readonly headers: WebhookEvent['headers']
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  readonly #stored: StoredBody
  #body: Uint8Array | undefined
  #payload: { readonly value: unknown } | undefined

  constructor(event: EnvelopeContent, ...payload: [unknown?]) {
    this.id = event.eventId
    this.source = event.source
    this.key = event.key
    this.type = event.type
    this.#stored = event.body
    this.headers = event.headers
    this.receivedAt = event.receivedAt
    this.occurredAt = event.occurredAt
    if (payload.length > 0) this.#payload = { value: payload[0] }
  }

  get body(): Uint8Array {
    this.#body ??= bytesOf(this.#stored)
    return this.#body
  }

  get payload(): unknown {
    this.#payload ??= { value: parsePayload(this.#stored, this.headers) }
    return this.#payload.value
  }
}
