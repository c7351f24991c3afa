/**
 * Headers as they are stored: JSON, or one header whose name no request can have, with all of them encrypted.
 *
 * @module
 */

/** Not a name of HTTP, so that no sender's headers look like it. */
export const SEALED_HEADERS = ':sealed'

/**
 * From their column. Text that is no JSON was changed in the database; it is handed on as headers that cannot be
 * opened, so that one row that was tampered with is not in the way of those that are read with it.
 */
export function readHeaders<Headers = Readonly<Record<string, string>>>(
  text: string | null | undefined,
): Headers {
  try {
    return JSON.parse(text ?? '{}') as Headers
  } catch {
    return { [SEALED_HEADERS]: text } as Headers
  }
}

/** Whether they were encrypted and are so still: by a store that has no keys. */
export function areSealed(headers: Readonly<Record<string, unknown>>): boolean {
  return SEALED_HEADERS in headers
}
