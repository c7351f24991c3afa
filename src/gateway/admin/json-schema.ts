import { z } from 'zod'

/** A schema, or a part of one. */
export type Json = Readonly<Record<string, unknown>>

/** What is taken or answered, as JSON Schema has it. What has a name of its own is in `$defs`. */
export function writeSchema(schema: z.ZodType): Json & { readonly $defs?: Json } {
  const written: Json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const { $schema: _draft, ...rest } = written
  return rest
}
