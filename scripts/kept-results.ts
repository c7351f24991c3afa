/**
 * What became of each mutant, in a file that is committed.
 *
 * The file is read and written anew for each result, so that two processes can share it. If they write in the same
 * millisecond one result is lost, and `--missing` finds it missing.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import type { Mutant, MutantResult } from './mutant-runner.ts'

export interface KeptResult {
  readonly status: MutantResult['status']
  readonly detail: string
  /** Of the entry, so that a result is not taken for that of a changed one. */
  readonly hash: string
  /** The day. */
  readonly on: string
}

export class KeptResults {
  readonly #file: string
  readonly #all: readonly Mutant[]

  constructor(file: string, all: readonly Mutant[]) {
    this.#file = file
    this.#all = all
  }

  /** Whether a test was seen to notice. What survived or could not be run is still to be done. */
  has(mutant: Mutant): boolean {
    const kept = this.#read()[mutant.name]
    return kept?.hash === hashOf(mutant) && ['killed', 'late'].includes(kept.status)
  }

  keep(mutant: Mutant, { status, detail }: MutantResult): void {
    const on = new Date().toISOString().slice(0, 10)
    const results = {
      ...this.#read(),
      [mutant.name]: { status, detail, hash: hashOf(mutant), on },
    }
    const known = this.#all.flatMap(({ name }): [string, KeptResult][] => {
      const result = results[name]
      return result === undefined ? [] : [[name, result]]
    })
    fs.writeFileSync(this.#file, `${JSON.stringify(Object.fromEntries(known), undefined, 2)}\n`)
  }

  #read(): Readonly<Record<string, KeptResult>> {
    if (!fs.existsSync(this.#file)) return {}
    return JSON.parse(fs.readFileSync(this.#file, 'utf8')) as Record<string, KeptResult>
  }
}

function hashOf({ file, search, replace, tests, named }: Mutant): string {
  return createHash('sha256')
    .update(JSON.stringify([file, search, replace, tests, named]))
    .digest('hex')
    .slice(0, 12)
}
