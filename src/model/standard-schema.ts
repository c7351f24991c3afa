/**
 * The part of Standard Schema (https://standardschema.dev) that is called here, so that Zod, Valibot,
 * ArkType and others fit without any of them being a dependency.
 *
 * @module
 */

export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
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
