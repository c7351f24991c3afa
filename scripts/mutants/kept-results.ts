/**
 * What became of each mutant, in a file that is committed, and the sum of it.
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
  /** What it took, with the run without the change. */
  readonly seconds: number
  /** Of the entry, so that a result is not taken for that of a changed one. */
  readonly hash: string
  /** The day. */
  readonly on: string
}

type Summary = Readonly<Record<'entries' | MutantResult['status'] | 'missing' | 'seconds', number>>

interface KeptFile {
  readonly summary?: Summary
  readonly results: Readonly<Record<string, KeptResult>>
}

export class KeptResults {
  readonly #file: string
  readonly #all: readonly Mutant[]

  constructor(file: string, all: readonly Mutant[]) {
    this.#file = file
    this.#all = all
  }

  /** The result of this entry as it is now. */
  find(mutant: Mutant): KeptResult | undefined {
    const kept = this.#read().results[mutant.name]
    return kept?.hash === hashOf(mutant) ? kept : undefined
  }

  keep(mutant: Mutant, { status, detail }: MutantResult, seconds: number): void {
    const on = new Date().toISOString().slice(0, 10)
    const results = {
      ...this.#read().results,
      [mutant.name]: { status, detail, seconds, hash: hashOf(mutant), on },
    }
    const known = this.#all.flatMap((one): [string, KeptResult][] => {
      const result = results[one.name]
      return result?.hash === hashOf(one) ? [[one.name, result]] : []
    })
    this.#write({ summary: this.#sumUp(known), results: Object.fromEntries(known) })
  }

  #sumUp(known: readonly [string, KeptResult][]): Summary {
    const count = (status: MutantResult['status']) =>
      known.filter(([, result]) => result.status === status).length
    return {
      entries: this.#all.length,
      killed: count('killed'),
      late: count('late'),
      survived: count('survived'),
      stale: count('stale'),
      broken: count('broken'),
      missing: this.#all.length - known.length,
      seconds: known.reduce((sum, [, { seconds }]) => sum + seconds, 0),
    }
  }

  #read(): KeptFile {
    if (!fs.existsSync(this.#file)) return { results: {} }
    return JSON.parse(fs.readFileSync(this.#file, 'utf8')) as KeptFile
  }

  /** Under another name first: another process that reads it reads all of it. */
  #write(kept: KeptFile): void {
    const draft = `${this.#file}.${process.pid}`
    fs.writeFileSync(draft, `${JSON.stringify(kept, undefined, 2)}\n`)
    fs.renameSync(draft, this.#file)
  }
}

function hashOf({ file, search, replace, tests, named }: Mutant): string {
  return createHash('sha256')
    .update(JSON.stringify([file, search, replace, tests, named]))
    .digest('hex')
    .slice(0, 12)
}
