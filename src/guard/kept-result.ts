/**
 * Results, kept as JSON text so that a duplicate can be given the first run's.
 *
 * @module
 */

/** What JSON gives back of a value: a Date as text, a Map as nothing much, a function not at all. */
export type Kept<T> = unknown extends T
  ? unknown
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends { toJSON(...args: never): infer Json }
      ? Kept<Json>
      : T extends bigint | symbol | ((...args: never) => unknown)
        ? undefined
        : T extends readonly unknown[]
          ? { [Index in keyof T]: KeptInList<T[Index]> }
          : T extends object
            ? { [Key in keyof T as Key extends string | number ? Key : never]: Kept<T[Key]> }
            : // What is left is `void`.
              undefined

/** A list keeps its places, so what JSON cannot write becomes `null` there. */
type KeptInList<T> = undefined extends Kept<T> ? Exclude<Kept<T>, undefined> | null : Kept<T>

export type ResultText =
  | { readonly status: 'kept'; readonly text: string | undefined }
  | { readonly status: 'dropped'; readonly reason: string }

/**
 * The work is done when this is called, so nothing here may fail it: a result that JSON cannot write,
 * or that is too large, is not kept.
 */
export function writeResult(result: unknown, bytesMax: number): ResultText {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch {
    return { status: 'dropped', reason: 'it cannot be written as JSON' }
  }
  const bytes = text === undefined ? 0 : Buffer.byteLength(text)
  if (bytes <= bytesMax) return { status: 'kept', text }
  return { status: 'dropped', reason: `it has ${bytes} bytes, over resultBytesMax ${bytesMax}` }
}

/** What was kept; `undefined` when nothing was. */
export function readResult(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}
