import { HookonceError } from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import type { ClaimedEvent } from '../store/contract.ts'
import { parsePayload } from './parse-payload.ts'
import { describeIssues } from './standard-schema.ts'
import type { StandardSchema } from './standard-schema.ts'

/**
 * The event as a handler gets it, its payload checked where the handler has a schema.
 *
 * @throws HookonceError `PAYLOAD_INVALID`
 */
export async function createEnvelope(
  event: EnvelopeContent,
  schema: StandardSchema | undefined,
): Promise<WebhookEvent> {
  const envelope = new Envelope(event)
  if (schema === undefined) return envelope
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
  readonly body: Uint8Array
  readonly headers: WebhookEvent['headers']
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  #payload: { readonly value: unknown } | undefined

  constructor(event: EnvelopeContent, ...payload: [unknown?]) {
    this.id = event.eventId
    this.source = event.source
    this.key = event.key
    this.type = event.type
    this.body = event.body
    this.headers = event.headers
    this.receivedAt = event.receivedAt
    this.occurredAt = event.occurredAt
    if (payload.length > 0) this.#payload = { value: payload[0] }
  }

  get payload(): unknown {
    this.#payload ??= { value: parsePayload(this.body, this.headers) }
    return this.#payload.value
  }
}
