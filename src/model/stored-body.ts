/** A body as the store hands it over. As text only where it is the bytes' UTF-8, and has every one of them. */
export type StoredBody = { readonly bytes: Uint8Array } | { readonly text: string }

export function bytesOf(body: StoredBody): Uint8Array {
  return 'bytes' in body ? body.bytes : Buffer.from(body.text)
}
