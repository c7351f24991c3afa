/**
 * Takes our own guards away, one at a time, and sees whether a test notices.
 *
 * Each entry of `scripts/mutants.json` is a small change to one file and the tests that must fail
 * under it. The change is made in a copy of the repository, never here.
 *
 *     npm run mutants                                 all of them
 *     npm run mutants -- --missing                    those without a kept result: takes up a run again
 *     npm run mutants -- --missing --part 1/2         half of them, beside a second process with the other half
 *     npm run mutants -- --only accept-any-signature
 *
 * What became of an entry is kept in `scripts/mutants-results.json` at once, with a hash of the entry: one that was
 * changed since has no result.
 *
 * What can become of an entry:
 *
 * - `killed`: a test failed.
 * - `late`: its tests failed by a time limit alone. That is how a guard against waiting for ever is noticed, and
 *   what a machine that is too busy looks like; so they are run again without the change, and must pass.
 * - `survived`: its tests pass. The guard is not tested, or not needed.
 * - `stale`: its text is not found exactly once.
 * - `broken`: nothing could be run, or its tests fail without the change. They prove nothing.
 *
 * The last three fail the run.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { KeptResults } from './kept-results.ts'
import { MutantRunner } from './mutant-runner.ts'
import type { Mutant, MutantResult } from './mutant-runner.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAILURES: readonly MutantResult['status'][] = ['survived', 'stale', 'broken']
const USAGE = 'Usage: mutants [--only NAME | --missing] [--part 1/2]'

function main(): void {
  const all = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'scripts/mutants.json'), 'utf8'),
  ) as Mutant[]
  const kept = new KeptResults(path.join(ROOT, 'scripts/mutants-results.json'), all)
  const { only, missing, part } = readArguments()
  const chosen = all
    .filter(({ name }) => only === undefined || name === only)
    .filter((mutant) => !missing || !kept.has(mutant))
    .filter(isInPart(part))
  if (only !== undefined && chosen.length === 0)
    throw new Error(`There is no ${only}. Known:\n${all.map(({ name }) => name).join('\n')}`)
  const copy = copyRepository()
  const results = new Map<Mutant, MutantResult>()
  try {
    const runner = new MutantRunner(copy, chosen)
    for (const mutant of chosen) {
      const result = runner.run(mutant)
      results.set(mutant, result)
      kept.keep(mutant, result)
      console.log(`${results.size}/${chosen.length} ${describe(mutant, result)}`)
    }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
  summarise(results)
}

function readArguments(): { only: string | undefined; missing: boolean; part: Part } {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      missing: { type: 'boolean', default: false },
      part: { type: 'string', default: '1/1' },
    },
  })
  const [, of, parts] = (/^([1-9])\/([1-9])$/.exec(values.part) ?? []).map(Number)
  if (of === undefined || parts === undefined || of > parts) throw new Error(USAGE)
  return { ...values, only: values.only, part: { of, parts } }
}

interface Part {
  readonly of: number
  readonly parts: number
}

/** Entries with the same tests stay together: these run once without a change for all of them. */
function isInPart({ of, parts }: Part): (mutant: Mutant) => boolean {
  return ({ tests }) => {
    const hash = createHash('sha256').update(tests.join(' ')).digest()
    return hash.readUInt32BE() % parts === of - 1
  }
}

/** Everything but what is big or made: tests read the documentation and the scripts as well. */
function copyRepository(): string {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-mutants-'))
  const left = new Set(['.git', 'node_modules', 'dist', 'coverage', '.hookonce'])
  fs.cpSync(ROOT, copy, { recursive: true, filter: (file) => !left.has(path.basename(file)) })
  // What `npm run test:orms` installs as well, where it has.
  for (const modules of ['node_modules', 'test/orms/node_modules'])
    fs.symlinkSync(path.join(ROOT, modules), path.join(copy, modules))
  // Tests may start a server as an unprivileged user, who must be able to get this far.
  fs.chmodSync(copy, 0o755)
  return copy
}

function describe({ name, guard }: Mutant, { status, detail }: MutantResult): string {
  return `${status.padEnd(8)} ${name}: ${guard}${detail === '' ? '' : `\n         ${detail}`}`
}

function summarise(results: ReadonlyMap<Mutant, MutantResult>): void {
  const of = (status: MutantResult['status']) =>
    [...results].filter(([, result]) => result.status === status)
  const told = ['late', ...FAILURES] as const
  for (const status of told)
    for (const [mutant, result] of of(status)) console.log(`\n${describe(mutant, result)}`)
  const counts = ['killed', ...told] as const
  console.log(`\n${counts.map((status) => `${of(status).length} ${status}`).join(', ')}`)
  if (FAILURES.some((status) => of(status).length > 0)) process.exitCode = 1
}

main()
