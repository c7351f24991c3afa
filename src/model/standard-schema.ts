/**
 * The part of Standard Schema (https://standardschema.dev) that is called here, so that Zod, Valibot,
 * ArkType and others fit without any of them being a dependency.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'

/** What says what a value must be: a schema of Zod, Valibot, ArkType, or another library that follows Standard Schema. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** What a schema takes in; `unknown` where it does not say. */
export type InputOf<Schema> = Schema extends {
  readonly '~standard': { readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown

/** What a schema puts out; `unknown` where it does not say. */
export type OutputOf<Schema> = Schema extends {
  readonly '~standard': { readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : unknown

/** @throws OptionInvalidError for what is given and is no schema */
export function requireSchema(path: string, given: unknown): void {
  const schema = given as Partial<StandardSchema> | null | undefined
  if (schema === undefined || typeof schema?.['~standard']?.validate === 'function') return
  throw new OptionInvalidError(path, 'a Standard Schema (Zod, Valibot, ArkType, …)', given)
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** `data.object.amount: Expected number`, one issue after the other. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 20)
    .map(({ message, path }) => {
      const keys = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
      return keys.length === 0 ? message : `${keys.join('.')}: ${message}`
    })
    .join('; ')
}
