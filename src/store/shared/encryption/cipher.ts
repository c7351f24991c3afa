/**
 * Encrypts what is stored, and finds out whether it was changed since.
 *
 *     hookonce:sealed:1:<key id>:<nonce, ciphertext and tag>
 *
 * - AES-256-GCM, with 96 random bits as the nonce of each.
 * - The table, the row's id, its source and the key's id are authenticated with it (`Place`), so that what is sealed
 *   for one row cannot be opened as another's.
 * - What does not begin like this was stored in the clear, and is handed over as it is: rows from before the
 *   encryption was switched on.
 *
 * Held by `test/store/shared/cipher.test.ts`.
 *
 * @module
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { UnreadableError } from '../../../errors.ts'
import type { ResolvedEncryption } from './encryption-options.ts'

/** Where something is stored. What is sealed for one place opens in no other. */
export interface Place {
  /** The table and the column. */
  readonly table: string
  /** Of the row, or of the event it belongs to. */
  readonly id: string
  /** The event's source, or what else the row is known by; empty where nothing is. */
  readonly source: string
}

/** What everything that is sealed begins with; also written in `sql/event-summary.ts` of each store. */
export const SEALED = 'hookonce:sealed:'

const ALGORITHM = 'aes-256-gcm'
const BEGINNING = Buffer.from(`${SEALED}1:`)
const KEY_ID_MAX = 64
const NONCE_BYTES = 12
const TAG_BYTES = 16

export class Cipher {
  readonly #keys: ReadonlyMap<string, KeyObject>
  readonly #first: string | undefined

  constructor({ keys, writes }: Pick<ResolvedEncryption, 'keys' | 'writes'>) {
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]))
    this.#first = writes === 'sealed' ? keys[0]?.id : undefined
  }

  /** With the first key. As it is where nothing is to be encrypted any more. */
  seal(bytes: Uint8Array, place: Place): Uint8Array {
    const keyId = this.#first
    const key = keyId === undefined ? undefined : this.#keys.get(keyId)
    if (keyId === undefined || key === undefined) return bytes
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(authenticated(place, keyId))
    const sealed = [cipher.update(bytes), cipher.final()]
    return Buffer.concat([
      BEGINNING,
      Buffer.from(`${keyId}:`),
      nonce,
      ...sealed,
      cipher.getAuthTag(),
    ])
  }

  /** @throws UnreadableError where it was changed, or is another row's, or its key is not here */
  open(bytes: Uint8Array, place: Place): Uint8Array {
    if (!isSealed(bytes)) return bytes
    const { keyId, rest } = split(bytes, place)
    const key = this.#keys.get(keyId)
    if (key === undefined)
      throw new UnreadableError('ENCRYPTION_KEY_MISSING', describe(place), keyId)
    try {
      const nonce = rest.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(authenticated(place, keyId))
      decipher.setAuthTag(rest.subarray(rest.length - TAG_BYTES))
      const opened = decipher.update(rest.subarray(NONCE_BYTES, rest.length - TAG_BYTES))
      return Buffer.concat([opened, decipher.final()])
    } catch {
      // What went wrong inside says nothing more, and must not.
      throw new UnreadableError('DECRYPT_FAILED', describe(place))
    }
  }

  /** The same of a text, as a text that every database can hold. */
  sealText(text: string, place: Place): string {
    const sealed = this.seal(Buffer.from(text), place)
    if (!isSealed(sealed)) return text
    const end = findKeyEnd(sealed)
    return `${asText(sealed.subarray(0, end))}${asText(sealed.subarray(end), 'base64')}`
  }

  /** @throws UnreadableError as `open` */
  openText(text: string, place: Place): string {
    if (!text.startsWith(SEALED)) return text
    const end = text.indexOf(':', BEGINNING.length) + 1
    const bytes = [Buffer.from(text.slice(0, end)), Buffer.from(text.slice(end), 'base64')]
    return asText(this.open(Buffer.concat(bytes), place))
  }
}

/** Whether it begins like what was sealed. */
export function isSealed(bytes: Uint8Array): boolean {
  if (bytes.length < SEALED.length || bytes[0] !== BEGINNING[0]) return false
  return asText(bytes.subarray(0, SEALED.length), 'latin1') === SEALED
}

function split(bytes: Uint8Array, place: Place): { keyId: string; rest: Uint8Array } {
  const end = findKeyEnd(bytes)
  const isWhole =
    end > 0 &&
    BEGINNING.equals(bytes.subarray(0, BEGINNING.length)) &&
    bytes.length >= end + NONCE_BYTES + TAG_BYTES
  if (!isWhole) throw new UnreadableError('DECRYPT_FAILED', describe(place))
  const keyId = asText(bytes.subarray(BEGINNING.length, end - 1), 'latin1')
  return { keyId, rest: bytes.subarray(end) }
}

/** Where the nonce begins; 0 where no key is named. */
function findKeyEnd(bytes: Uint8Array): number {
  const head = bytes.subarray(0, BEGINNING.length + KEY_ID_MAX + 1)
  return head.indexOf(0x3a, BEGINNING.length) + 1
}

/** As JSON, so that no two places are the same text. */
function authenticated({ table, id, source }: Place, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([table, id, source, keyId]))
}

function describe({ table, id }: Place): string {
  return `${table} of ${id}`
}

function asText(bytes: Uint8Array, encoding: BufferEncoding = 'utf8'): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
}
