/**
 * A body read as a form.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'

/** The fields in the order they came, or `undefined` when the bytes are not UTF-8. */
export function findFormFields(
  bytes: Uint8Array,
): readonly (readonly [string, string])[] | undefined {
  if (!isUtf8(bytes)) return undefined
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return [...new URLSearchParams(text)]
}

/** The one value of a field. A field that came twice has none: which one counts would be ours to guess. */
export function findFormField(bytes: Uint8Array, name: string): string | undefined {
  const values = (findFormFields(bytes) ?? []).filter(([field]) => field === name)
  return values.length === 1 ? values[0]?.[1] : undefined
}

/**
 * Every field as name and value, sorted by name, without anything between: what some senders sign
 * in place of the body. Equal pairs count once, and the values of one name are sorted.
 */
export function renderSortedForm(bytes: Uint8Array): Buffer | undefined {
  const fields = findFormFields(bytes)
  if (fields === undefined) return undefined
  const pairs = new Map<string, Set<string>>()
  for (const [name, value] of fields) {
    pairs.set(name, (pairs.get(name) ?? new Set()).add(value))
  }
  const text = [...pairs.keys()]
    .sort()
    .flatMap((name) => [...(pairs.get(name) ?? [])].sort().map((value) => name + value))
    .join('')
  return Buffer.from(text, 'utf8')
}
