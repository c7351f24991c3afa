import { HookonceError } from '../errors.ts'
import type { DeliveryHeaders } from './delivery.ts'
import type { EventId, WebhookEvent } from './event.ts'
import { parsePayload } from './parse-payload.ts'
import { describeIssues } from './standard-schema.ts'
import type { StandardSchema } from './standard-schema.ts'
import { bytesOf } from './stored-body.ts'
import type { StoredBody } from './stored-body.ts'

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

/** The same with the payload as it came, for a caller that cannot wait. */
export function createPlainEnvelope(event: EnvelopeContent): WebhookEvent {
  return new Envelope(event)
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
export interface EnvelopeContent {
  readonly eventId: EventId
  readonly source: string
  readonly key: string
  readonly type: string
  readonly body: StoredBody
  readonly headers: DeliveryHeaders
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  readonly verifiedBy: string
  /** Left out where no operator can have changed it. */
  readonly isModified?: boolean
}

/**
 * One for each run of a handler, with copies of all that can be changed: several handlers of an event, a second
 * run of one and several events of one delivery are made from the same content. Copied when they are made, since
 * a copy of ten headers and a date takes less than a microsecond; body and payload when they are first asked for.
 */
class Envelope implements WebhookEvent {
  readonly id: string
  readonly source: string
  readonly key: string
  readonly type: string
  readonly headers: WebhookEvent['headers']
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  readonly verifiedBy: string
  readonly isModified: boolean
  readonly #content: EnvelopeContent
  #body: Uint8Array | undefined
  #payload: { readonly value: unknown } | undefined

  constructor(event: EnvelopeContent, ...payload: [unknown?]) {
    this.id = event.eventId
    this.source = event.source
    this.key = event.key
    this.type = event.type
    this.headers = copyHeaders(event.headers)
    this.receivedAt = new Date(event.receivedAt)
    this.occurredAt = event.occurredAt === undefined ? undefined : new Date(event.occurredAt)
    this.verifiedBy = event.verifiedBy
    this.isModified = event.isModified ?? false
    this.#content = event
    if (payload.length > 0) this.#payload = { value: payload[0] }
  }

  get body(): Uint8Array {
    this.#body ??= copyBytes(this.#content.body)
    return this.#body
  }

  get payload(): unknown {
    this.#payload ??= { value: parsePayload(this.#content.body, this.#content.headers) }
    return this.#payload.value
  }
}

function copyHeaders(headers: DeliveryHeaders): DeliveryHeaders {
  const copy: Record<string, string | readonly string[]> = { ...headers }
  for (const name of Object.keys(copy)) {
    const value = copy[name]
    if (typeof value === 'object') copy[name] = [...value]
  }
  return copy
}

/** Bytes that are made from text are new already. Not `slice`, which for a Buffer shares the memory. */
function copyBytes(body: StoredBody): Uint8Array {
  return 'bytes' in body ? Uint8Array.prototype.slice.call(body.bytes) : bytesOf(body)
}
