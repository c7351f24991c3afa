import { OptionInvalidError } from '../errors.ts'
import { requireSchema } from '../model/standard-schema.ts'
import type { OutputOf, StandardSchema } from '../model/standard-schema.ts'
import type { Source } from '../model/source.ts'

/** Schemas by event type. */
export type EventSchemas = Readonly<Record<string, StandardSchema>>

/** The payloads that schemas put out, by event type. */
export type EventsOfSchemas<Schemas extends EventSchemas> = {
  readonly [Type in keyof Schemas]: OutputOf<Schemas[Type]>
}

/**
 * The source with a schema for each of its event types, any Standard Schema: `withSchemas(hmac({ … }), { 'order.paid':
 * z.object({ … }) })`. Handlers get what the schema puts out, and a type that is not named does not compile.
 *
 * A payload is checked when its handlers run, and not when it is delivered: what does not fit is kept, dead with
 * `PAYLOAD_INVALID`, and can be run again when the schema is mended. A handler's own `schema` goes before it. What a
 * pattern such as `*` matches beside the named types is not checked.
 *
 * @throws OptionInvalidError for what is no source or no schema
 */
export function withSchemas<const Schemas extends EventSchemas>(
  source: Omit<Source, 'eventTypes'>,
  schemas: Schemas,
): Source<EventsOfSchemas<Schemas>> {
  if (typeof source?.verify !== 'function' || typeof source.identify !== 'function')
    throw new OptionInvalidError('withSchemas.source', 'a source, such as hmac({ … })', source)
  if (typeof schemas !== 'object' || schemas === null || Object.keys(schemas).length === 0)
    throw new OptionInvalidError('withSchemas.schemas', 'an object of schemas by type', schemas)
  for (const [type, schema] of Object.entries(schemas)) {
    if (schema === undefined)
      throw new OptionInvalidError(`withSchemas.schemas.${type}`, 'a Standard Schema', schema)
    requireSchema(`withSchemas.schemas.${type}`, schema)
  }
  const { handshake, redactBody } = source
  return {
    ...source,
    // One that is an object of a class has them from its prototype, and may need `this`.
    verify: (delivery) => source.verify(delivery),
    identify: (delivery, verdict, limits) => source.identify(delivery, verdict, limits),
    ...(handshake !== undefined && { handshake: handshake.bind(source) }),
    ...(redactBody !== undefined && { redactBody: redactBody.bind(source) }),
    schemas: Object.freeze({ ...schemas }),
  }
}
