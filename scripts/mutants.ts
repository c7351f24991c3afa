/**
 * Takes our own guards away, one at a time, and sees whether a test notices.
 *
 * Each entry of `scripts/mutants.json` is a small change to one file and the tests that must fail
 * under it. The change is made in a copy of the repository, never here.
 *
 *     npm run mutants                                 all of them
 *     npm run mutants -- --missing                    those without a kept result: takes up a run again
 *     npm run mutants -- --missing --minutes 5        as many of them as fit
 *     npm run mutants -- --missing --part 1/2         half of them, beside a second process with the other half
 *     npm run mutants -- --only accept-any-signature
 *
 * What became of an entry is kept in `scripts/mutants-results.json` at once, with a hash of the entry: one that was
 * changed since has no result. A result is not lost when the source around the guard changes: for a whole run anew,
 * remove that file first.
 *
 * What can become of an entry:
 *
 * - `killed`: a test failed, and passes without the change.
 * - `late`: a test failed by a time limit alone, and passes in half of that time without the change. That is how a
 *   guard against waiting for ever is noticed.
 * - `survived`: its tests pass. The guard is not tested, or not needed.
 * - `stale`: its text is not found exactly once.
 * - `broken`: nothing could be run, or the test fails without the change. It proves nothing.
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
import { KeptResults } from './mutants/kept-results.ts'
import { MutantRunner } from './mutants/mutant-runner.ts'
import type { Mutant, MutantResult } from './mutants/mutant-runner.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAILURES: readonly MutantResult['status'][] = ['survived', 'stale', 'broken']
const USAGE = 'Usage: mutants [--only NAME... | --missing] [--part 1/2] [--minutes 5]'

async function main(): Promise<void> {
  const all = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'scripts/mutants.json'), 'utf8'),
  ) as Mutant[]
  const kept = new KeptResults(path.join(ROOT, 'scripts/mutants-results.json'), all)
  const { only, missing, part, minutes } = readArguments()
  const chosen = all
    .filter(({ name }) => only.length === 0 || only.includes(name))
    .filter((mutant) => !missing || !wasNoticed(kept.find(mutant)))
    .filter(isInPart(part))
  const unknown = only.filter((wanted) => !all.some(({ name }) => name === wanted))
  if (unknown.length > 0)
    throw new Error(
      `Unknown: ${unknown.join(', ')}. Known:\n${all.map(({ name }) => name).join('\n')}`,
    )
  // What failed before comes last: a run with a limit gets further.
  const tried = chosen.filter((mutant) => kept.find(mutant) !== undefined)
  const ordered = [...chosen.filter((mutant) => !tried.includes(mutant)), ...tried]
  const copy = copyRepository()
  const runner = new MutantRunner(copy)
  const results = new Map<Mutant, MutantResult>()
  const startedAt = performance.now()
  try {
    for (const mutant of ordered) {
      const beganAt = performance.now()
      if (beganAt - startedAt > minutes * 60_000) break
      const result = await runner.run(mutant)
      const seconds = Math.ceil((performance.now() - beganAt) / 1_000)
      results.set(mutant, result)
      kept.keep(mutant, result, seconds)
      console.log(`${results.size}/${chosen.length} ${seconds} s ${describe(mutant, result)}`)
    }
  } finally {
    await runner.close()
    fs.rmSync(copy, { recursive: true, force: true })
  }
  summarise(results)
}

function wasNoticed(result: MutantResult | undefined): boolean {
  return result !== undefined && !FAILURES.includes(result.status)
}

interface Arguments {
  readonly only: readonly string[]
  readonly missing: boolean
  readonly part: Part
  readonly minutes: number
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      missing: { type: 'boolean', default: false },
      part: { type: 'string', default: '1/1' },
      minutes: { type: 'string', default: 'Infinity' },
    },
  })
  const [, of, parts] = (/^([1-9])\/([1-9])$/.exec(values.part) ?? []).map(Number)
  const minutes = Number(values.minutes)
  if (of === undefined || parts === undefined || of > parts || !(minutes > 0))
    throw new Error(USAGE)
  return { only: values.only, missing: values.missing, part: { of, parts }, minutes }
}

interface Part {
  readonly of: number
  readonly parts: number
}

/** Entries with the same tests stay together: what these import is transformed once for all of them. */
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
  for (const folder of ['', 'test/orms', 'test/orms/mikro-orm-7']) {
    const modules = path.join(folder, 'node_modules')
    if (fs.existsSync(path.join(ROOT, modules)))
      fs.symlinkSync(path.join(ROOT, modules), path.join(copy, modules))
  }
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

await main()
