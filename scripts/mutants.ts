/**
 * Takes our own guards away, one at a time, and sees whether a test notices.
 *
 * Each entry of `scripts/mutants.json` is a small change to one file and the tests that must fail
 * under it. The change is made in a copy of the repository, never here. An entry fails when its tests
 * pass (the guard is not tested), when its text is not found exactly once (the entry is stale), or
 * when nothing could be run (the change does not even load, so that its tests prove nothing).
 *
 *     npm run mutants
 *     npm run mutants -- --only accept-any-signature
 *
 * @module
 */

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

interface Mutant {
  readonly name: string
  /** The guard that is taken away, in words. */
  readonly guard: string
  readonly file: string
  readonly search: string
  readonly replace: string
  /** Test files, at least one of which must fail. */
  readonly tests: readonly string[]
  /** Narrows the tests by name, where a file has many that are not about the guard. */
  readonly named?: string
}

interface Result {
  readonly status: 'killed' | 'survived' | 'stale' | 'broken'
  readonly detail: string
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A guard whose absence makes a test hang is noticed as well, but not before this. */
const RUN_TIMEOUT_MS = 180_000

function main(): void {
  const mutants = chooseMutants(process.argv.slice(2))
  const copy = copyRepository()
  let failed = 0
  try {
    const untouched = runTests(copy, [...new Set(mutants.flatMap(({ tests }) => tests))])
    if (untouched.status !== 'survived') {
      throw new Error(
        `The tests fail before anything is changed, so they prove nothing:\n${untouched.detail}`,
      )
    }
    for (const mutant of mutants) {
      const { status, detail } = tryMutant(copy, mutant)
      if (status !== 'killed') failed++
      console.log(
        `${status.padEnd(8)} ${mutant.name}: ${mutant.guard}${detail === '' ? '' : `\n         ${detail}`}`,
      )
    }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
  console.log(`${mutants.length - failed} passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
}

function chooseMutants(args: readonly string[]): readonly Mutant[] {
  const all = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'scripts/mutants.json'), 'utf8'),
  ) as Mutant[]
  if (args.length === 0) return all
  const [flag, name] = args
  const chosen = all.filter((mutant) => mutant.name === name)
  if (flag === '--only' && chosen.length > 0) return chosen
  throw new Error(
    `Usage: mutants [--only NAME], where NAME is one of:\n${all.map((mutant) => mutant.name).join('\n')}`,
  )
}

/** Everything but what is big or made: tests read the documentation and the scripts as well. */
function copyRepository(): string {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-mutants-'))
  const left = new Set(['.git', 'node_modules', 'dist', 'coverage', '.hookonce'])
  for (const name of fs.readdirSync(ROOT)) {
    if (!left.has(name))
      fs.cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true })
  }
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))
  // Tests may start a server as an unprivileged user, who must be able to get this far.
  fs.chmodSync(copy, 0o755)
  return copy
}

function tryMutant(copy: string, mutant: Mutant): Result {
  const file = path.join(copy, mutant.file)
  const original = fs.readFileSync(file, 'utf8')
  const count = original.split(mutant.search).length - 1
  if (count !== 1)
    return { status: 'stale', detail: `its text is ${count} times in ${mutant.file}` }
  try {
    fs.writeFileSync(
      file,
      original.replace(mutant.search, () => mutant.replace),
    )
    return runTests(copy, mutant.tests, mutant.named)
  } finally {
    fs.writeFileSync(file, original)
  }
}

function runTests(copy: string, tests: readonly string[], named?: string): Result {
  const report = path.join(copy, 'mutants-report.json')
  fs.rmSync(report, { force: true })
  const vitest = path.join(copy, 'node_modules/.bin/vitest')
  const args = ['run', '--bail', '1', '--reporter=json', `--outputFile=${report}`, ...tests]
  if (named !== undefined) args.push('-t', named)
  const { status, stdout, stderr, error } = spawnSync(vitest, args, {
    cwd: copy,
    encoding: 'utf8',
    timeout: RUN_TIMEOUT_MS,
  })
  if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT') {
    return { status: 'killed', detail: `its tests hung for ${RUN_TIMEOUT_MS} ms` }
  }
  return judgeReport(status, report, `${stdout}${stderr}`)
}

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

function judgeReport(status: number | null, file: string, output: string): Result {
  if (!fs.existsSync(file)) return { status: 'broken', detail: output.slice(-2_000) }
  const report = JSON.parse(fs.readFileSync(file, 'utf8')) as Report
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const first = results.find((result) => result.status === 'failed')
  if (first !== undefined) return { status: 'killed', detail: `by: ${first.fullName}` }
  if (status === 0 && report.numPassedTests > 0) return { status: 'survived', detail: '' }
  return { status: 'broken', detail: output.slice(-2_000) }
}

main()
