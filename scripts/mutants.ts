/**
 * Takes our own guards away, one at a time, and sees whether a test notices.
 *
 * Each entry of `scripts/mutants.json` is a small change to one file and the tests that must fail
 * under it. The change is made in a copy of the repository, never here.
 *
 *     npm run mutants
 *     npm run mutants -- --only accept-any-signature
 *     npm run mutants -- --from 80                    (takes up a run again; a name will do as well)
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

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { MutantRunner } from './mutant-runner.ts'
import type { Mutant, MutantResult } from './mutant-runner.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAILURES: readonly MutantResult['status'][] = ['survived', 'stale', 'broken']

function main(): void {
  const all = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'scripts/mutants.json'), 'utf8'),
  ) as Mutant[]
  const chosen = chooseMutants(all, process.argv.slice(2))
  const copy = copyRepository()
  const results = new Map<Mutant, MutantResult>()
  try {
    const runner = new MutantRunner(copy, chosen)
    for (const mutant of chosen) {
      const result = runner.run(mutant)
      results.set(mutant, result)
      console.log(`${all.indexOf(mutant) + 1}/${all.length} ${describe(mutant, result)}`)
    }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
  summarise(results)
}

function chooseMutants(all: readonly Mutant[], args: readonly string[]): readonly Mutant[] {
  if (args.length === 0) return all
  const [flag, value = '', ...rest] = args
  const byName = all.findIndex(({ name }) => name === value)
  const at = byName === -1 && flag === '--from' ? Number(value) - 1 : byName
  if (rest.length === 0 && all[at] !== undefined) {
    if (flag === '--only') return all.slice(at, at + 1)
    if (flag === '--from') return all.slice(at)
  }
  const names = all.map(({ name }, index) => `${String(index + 1).padStart(4)} ${name}`)
  throw new Error(
    `Usage: mutants [--only NAME | --from NAME_OR_NUMBER], where these are:\n${names.join('\n')}`,
  )
}

/** Everything but what is big or made: tests read the documentation and the scripts as well. */
function copyRepository(): string {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-mutants-'))
  const left = new Set(['.git', 'node_modules', 'dist', 'coverage', '.hookonce'])
  fs.cpSync(ROOT, copy, { recursive: true, filter: (file) => !left.has(path.basename(file)) })
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))
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
