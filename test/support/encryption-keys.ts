import { createHash } from 'node:crypto'
import type { EncryptionKey, EncryptionOptions } from '../../src/store/sqlite/index.ts'

/** A key of this name; `seed` for another one with the same name. */
export function aKey(id: string, seed = id): EncryptionKey {
  return { id, key: createHash('sha256').update(`a key for tests, ${seed}`).digest() }
}

export const ENCRYPTION: EncryptionOptions = { keys: [aKey('2026-11')] }
