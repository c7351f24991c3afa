/**
 * Makes a mutant's change in a copy of the repository, runs its tests there and says what became of it.
 *
 * How long tests may take follows from how long they took without a change, on this machine and beside
 * whatever else it does.
 *
 * @module
 */

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export interface Mutant {
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

export interface MutantResult {
  readonly status: 'killed' | 'late' | 'survived' | 'stale' | 'broken'
  readonly detail: string
}

interface TestRun {
  readonly status: 'passed' | 'failed' | 'late' | 'nothing'
  readonly detail: string
  readonly tookMs: number
}

/** For tests without a change. Each of them has a limit of its own, which is below that. */
const UNCHANGED_LIMIT_MS = 1_800_000
/** How often as long as without a change tests may take, and what they may take in any case. */
const LIMIT_FACTOR = 5
const LIMIT_MIN_MS = 180_000

export class MutantRunner {
  readonly #copy: string
  readonly #all: readonly Mutant[]
  readonly #unchanged = new Map<string, TestRun>()

  /** @param all - the mutants that will be run, so that tests that several share run once without a change */
  constructor(copy: string, all: readonly Mutant[]) {
    this.#copy = copy
    this.#all = all
  }

  run(mutant: Mutant): MutantResult {
    const file = path.join(this.#copy, mutant.file)
    const original = fs.readFileSync(file, 'utf8')
    const count = original.split(mutant.search).length - 1
    if (count !== 1)
      return { status: 'stale', detail: `its text is ${count} times in ${mutant.file}` }
    const unchanged = this.#runUnchanged(mutant)
    if (unchanged.status !== 'passed') return failsUnchanged(unchanged)

    fs.writeFileSync(
      file,
      original.replace(mutant.search, () => mutant.replace),
    )
    const changed = this.#runTests(mutant.tests, mutant.named, limitFor(unchanged))
    fs.writeFileSync(file, original)
    switch (changed.status) {
      case 'passed':
        return { status: 'survived', detail: '' }
      case 'failed':
        return { status: 'killed', detail: `by: ${changed.detail}` }
      case 'nothing':
        return { status: 'broken', detail: changed.detail }
      case 'late':
        return this.#judgeLate(mutant, changed, unchanged)
    }
  }

  /** Was it the change, or the machine? */
  #judgeLate(mutant: Mutant, changed: TestRun, unchanged: TestRun): MutantResult {
    const again = this.#runTests(mutant.tests, mutant.named, limitFor(unchanged))
    if (again.status !== 'passed') return failsUnchanged(again)
    return {
      status: 'late',
      detail: `by: ${changed.detail} (${seconds(changed)}; without the change they pass, ${seconds(again)})`,
    }
  }

  /** The tests of all mutants with the same files, once. */
  #runUnchanged({ tests }: Mutant): TestRun {
    const key = tests.join(' ')
    const known = this.#unchanged.get(key)
    if (known !== undefined) return known
    const names = this.#all
      .filter((mutant) => mutant.tests.join(' ') === key)
      .map(({ named }) => named)
    const named = names.includes(undefined) ? undefined : [...new Set(names)].join('|')
    let run = this.#runTests(tests, named, UNCHANGED_LIMIT_MS)
    // Dozens of entries may depend on it, and a busy machine is no reason to give them all up.
    if (run.status !== 'passed') run = this.#runTests(tests, named, UNCHANGED_LIMIT_MS)
    this.#unchanged.set(key, run)
    return run
  }

  #runTests(tests: readonly string[], named: string | undefined, limitMs: number): TestRun {
    const report = path.join(this.#copy, 'mutants-report.json')
    fs.rmSync(report, { force: true })
    const vitest = path.join(this.#copy, 'node_modules/.bin/vitest')
    const args = ['run', '--bail', '1', '--reporter=json', `--outputFile=${report}`, ...tests]
    if (named !== undefined) args.push('-t', named)
    if (tests.every((test) => test.startsWith('test/orms/')))
      args.push('--config', 'test/orms/vitest.config.ts')
    const startedAt = performance.now()
    const { status, stdout, stderr, error } = spawnSync(vitest, args, {
      cwd: this.#copy,
      encoding: 'utf8',
      env: { ...process.env, HOOKONCE_TESTS: 'all' },
      timeout: Math.ceil(limitMs),
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024 ** 2,
    })
    const tookMs = performance.now() - startedAt
    if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT')
      return { status: 'late', detail: 'the tests did not end', tookMs }
    return { ...judgeReport(status, report, `${stdout}${stderr}`), tookMs }
  }
}

function limitFor({ tookMs }: TestRun): number {
  return Math.max(LIMIT_MIN_MS, LIMIT_FACTOR * tookMs)
}

function failsUnchanged({ detail }: TestRun): MutantResult {
  return { status: 'broken', detail: `its tests fail without the change: ${detail}` }
}

function seconds({ tookMs }: TestRun): string {
  return `${Math.ceil(tookMs / 1_000)} s`
}

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    /** Why a file could not be run at all. */
    readonly message?: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** What is in the report of a test that ran out of time: instead of Vitest's message, and as our `until` says it. */
const LATE = /^Error: (STACK_TRACE_ERROR|Waited in vain until)/

function judgeReport(
  status: number | null,
  file: string,
  output: string,
): Pick<TestRun, 'status' | 'detail'> {
  if (!fs.existsSync(file)) return { status: 'nothing', detail: output.slice(-2_000) }
  const report = JSON.parse(fs.readFileSync(file, 'utf8')) as Report
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const failed = results.filter((result) => result.status === 'failed')
  const isLate = ({ failureMessages = [] }: (typeof failed)[number]) =>
    failureMessages.length > 0 && failureMessages.every((message) => LATE.test(message))
  const first = failed.find((result) => !isLate(result)) ?? failed[0]
  if (first !== undefined)
    return { status: isLate(first) ? 'late' : 'failed', detail: first.fullName }
  if (status === 0 && report.numPassedTests > 0) return { status: 'passed', detail: '' }
  const messages = report.testResults.map(({ message = '' }) => message).join('\n')
  return { status: 'nothing', detail: `${messages}${output}`.slice(0, 2_000) }
}
