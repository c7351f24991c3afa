/**
 * How the keys are kept: two rows of the table `meta` for each, its check value and since when it encrypts.
 *
 * @module
 */

import type { KeptKey } from './check-keys.ts'

export const KEY_CHECK = 'encryption_key/'
export const KEY_USE = 'encryption_used/'

/** A row of `meta`. */
export interface MetaRow {
  readonly name: string | null
  readonly value: string | null
}

export function readKeptKeys(rows: readonly MetaRow[]): readonly KeptKey[] {
  const values = new Map(rows.map(({ name, value }) => [name ?? '', value ?? '']))
  return [...values]
    .filter(([name]) => name.startsWith(KEY_CHECK))
    .map(([name, check]) => {
      const id = name.slice(KEY_CHECK.length)
      const usedAt = values.get(`${KEY_USE}${id}`)
      return { id, check, usedAt: usedAt === undefined ? undefined : Number(usedAt) }
    })
}
