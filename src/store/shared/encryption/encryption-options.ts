import { createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { OptionInvalidError } from '../../../errors.ts'
import { rejectUnknownKeys } from '../../../options/reject-unknown-keys.ts'
import { requireOneOf } from '../../../options/require-one-of.ts'

/** What is stored is encrypted, with keys of yours. See the guide `docs/guides/encryption.md`. */
export interface EncryptionOptions {
  /**
   * The first one encrypts, all of them decrypt: a new key goes behind the others everywhere, and to the front when it
   * is everywhere.
   */
  readonly keys: readonly EncryptionKey[]
  /**
   * `clear` to switch encryption off, or after keys were lost: what is new is stored as it is, and what was
   * encrypted is still read where its key is there.
   *
   * @defaultValue 'sealed'
   */
  readonly writes?: 'sealed' | 'clear'
}

/** A key, and what it is called in the database. */
export interface EncryptionKey {
  /** Such as `2026-11`: up to 64 letters, digits, `.`, `_` and `-`. Stored beside all that is encrypted with the key. */
  readonly id: string
  /** 32 random bytes, as bytes or in base64: `openssl rand -base64 32`. */
  readonly key: Uint8Array | string
}

/** What `EncryptionOptions` comes to. */
export interface ResolvedEncryption {
  readonly keys: readonly { readonly id: string; readonly key: KeyObject }[]
  readonly writes: 'sealed' | 'clear'
}

const KEY_BYTES = 32
/** Of the 32 bytes. Random ones have fewer once in 10^20 tries. */
const DISTINCT_MIN = 16

/** @throws OptionInvalidError that names the key by its place, and never says what is in it */
export function resolveEncryption(
  path: string,
  options: EncryptionOptions | undefined,
): ResolvedEncryption | undefined {
  if (options === undefined) return undefined
  rejectUnknownKeys(path, options, ['keys', 'writes'])
  const { keys, writes = 'sealed' } = options
  requireOneOf(`${path}.writes`, writes, ['sealed', 'clear'])
  if (!Array.isArray(keys) || (keys.length === 0 && writes === 'sealed'))
    throw new OptionInvalidError(`${path}.keys`, 'a list of one key or more', keys)
  const resolved = keys.map((each: EncryptionKey, at) => resolveKey(`${path}.keys.${at}`, each))
  resolved.forEach(({ id }, at) => {
    if (resolved.findIndex((other) => other.id === id) === at) return
    const message = `${path}.keys: two keys are called "${id}"; each needs a name of its own`
    throw new OptionInvalidError(`${path}.keys`, { message })
  })
  return Object.freeze({ keys: resolved, writes })
}

function resolveKey(path: string, given: EncryptionKey): ResolvedEncryption['keys'][number] {
  rejectUnknownKeys(path, given, ['id', 'key'])
  const { id, key } = given
  if (typeof id !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(id))
    throw new OptionInvalidError(`${path}.id`, '1 to 64 letters, digits, ., _ and -', id)
  const refuse = (problem: string): never => {
    const advice = 'make one with: openssl rand -base64 32'
    throw new OptionInvalidError(`${path}.key`, {
      message: `${path}.key, of the key "${id}", ${problem}; ${advice}`,
    })
  }
  const bytes = readKey(key) ?? refuse('is neither bytes nor base64')
  if (bytes.length !== KEY_BYTES) refuse(`has ${bytes.length} bytes and not ${KEY_BYTES}`)
  if (isWeak(bytes)) refuse('is not random: it looks like text, or repeats itself')
  return { id, key: createSecretKey(bytes) }
}

function readKey(key: unknown): Uint8Array | undefined {
  if (key instanceof Uint8Array) return Uint8Array.from(key)
  if (typeof key !== 'string' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(key)) return undefined
  return Buffer.from(key, 'base64')
}

/** What a person has typed, or a placeholder. Of random keys one in 10^13 is all letters, digits and signs. */
function isWeak(bytes: Uint8Array): boolean {
  return new Set(bytes).size < DISTINCT_MIN || bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
}
