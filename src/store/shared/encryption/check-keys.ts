/**
 * Finds out, when a store is opened, whether its keys are those that the database was encrypted with.
 *
 * For each key the database has a check value: a keyed hash of a text that is no secret, from which the key cannot be
 * found. And it has which keys have encrypted: a process that lacks the one that was begun with last would hand events
 * to no handler, or would store in the clear what others encrypt.
 *
 * @module
 */

import { createHmac } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { HookonceError } from '../../../errors.ts'
import type { ResolvedEncryption } from './encryption-options.ts'

/** What is kept of a key in the database. */
export interface KeptKey {
  readonly id: string
  readonly check: string
  /** When a process first encrypted with it, in ms; `undefined` while none has. */
  readonly usedAt: number | undefined
}

/** How the keys in a database are read and written. */
export interface KeptKeys {
  readonly list: () => Promise<readonly KeptKey[]>
  /** Writes it where there is none with this id; another process may have been first. */
  readonly add: (key: { readonly id: string; readonly check: string }) => Promise<void>
  /** Notes that it encrypts from now on, where that is not known. */
  readonly use: (id: string) => Promise<void>
  /** None of them encrypts any more. */
  readonly useNone: () => Promise<void>
}

/**
 * Says what the user may want to know.
 *
 * @throws HookonceError ENCRYPTION_KEY_WRONG, ENCRYPTION_KEY_MISSING
 */
export async function checkKeys(
  kept: KeptKeys,
  encryption: ResolvedEncryption | undefined,
): Promise<readonly string[]> {
  const found = await kept.list()
  const known = encryption === undefined ? found : await addMissing(kept, found, encryption)
  const { keys = [], writes = 'sealed' } = encryption ?? {}
  for (const { id, key } of keys) requireRight(known, id, key)

  const lacking = known
    .filter(({ id, usedAt }) => usedAt !== undefined && !keys.some((each) => each.id === id))
    .map(({ id }) => id)
  const latest = findLatest(known)
  if (writes === 'sealed' && latest !== undefined && lacking.includes(latest.id))
    throw missing(latest.id)

  const [first] = keys
  if (first !== undefined && writes === 'sealed') {
    if (known.find(({ id }) => id === first.id)?.usedAt === undefined) await kept.use(first.id)
  } else if (first !== undefined && latest !== undefined) {
    await kept.useNone()
  }
  return lacking.map(
    (id) =>
      `The store has been encrypted with the key "${id}", which this process does not have: what is left of it cannot be read here`,
  )
}

async function addMissing(
  kept: KeptKeys,
  found: readonly KeptKey[],
  { keys }: ResolvedEncryption,
): Promise<readonly KeptKey[]> {
  const added = keys.filter(({ id }) => !found.some((each) => each.id === id))
  if (added.length === 0) return found
  for (const { id, key } of added) await kept.add({ id, check: checkOf(id, key) })
  return kept.list()
}

function requireRight(known: readonly KeptKey[], id: string, key: KeyObject): void {
  if (known.find((each) => each.id === id)?.check === checkOf(id, key)) return
  throw new HookonceError(
    'ENCRYPTION_KEY_WRONG',
    `The encryption key "${id}" is not the one that this database knows under that name. ` +
      'A new key needs a name of its own',
  )
}

function missing(id: string): HookonceError {
  return new HookonceError(
    'ENCRYPTION_KEY_MISSING',
    `This database is encrypted with the key "${id}", which this process does not have. ` +
      'Give it to the store in encryption.keys',
  )
}

/** The one that was begun with last: what is written now is sealed with it. */
function findLatest(known: readonly KeptKey[]): KeptKey | undefined {
  return known
    .filter(({ usedAt }) => usedAt !== undefined)
    .reduce<KeptKey | undefined>(
      (latest, key) => ((key.usedAt ?? 0) >= (latest?.usedAt ?? 0) ? key : latest),
      undefined,
    )
}

/** 128 bits of it tell a wrong key; nothing is encrypted or authenticated with it. */
function checkOf(id: string, key: KeyObject): string {
  return createHmac('sha256', key).update(`hookonce key check 1 ${id}`).digest('hex').slice(0, 32)
}
