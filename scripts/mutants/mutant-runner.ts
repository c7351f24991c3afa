/**
 * Makes a mutant's change in a copy of the repository, runs its tests there and says what became of it.
 *
 * A test that fails proves something only if it passes without the change: it is run again, alone.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { WarmVitest } from './warm-vitest.ts'
import type { RunReport, RunRequest } from './warm-vitest.ts'

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
  /** The test that failed, and what it said. */
  readonly test?: string
  readonly message?: string
}

/**
 * What a test may take under a change. Without it, the test must pass in half of that; one that takes longer is given
 * what the config says.
 */
const CHANGED_TEST_MS = 20_000

export class MutantRunner {
  readonly #copy: string
  readonly #vitest: WarmVitest
  readonly #vitestOfOrms: WarmVitest

  constructor(copy: string) {
    this.#copy = copy
    this.#vitest = new WarmVitest(copy, undefined)
    this.#vitestOfOrms = new WarmVitest(copy, 'test/orms/vitest.config.ts')
  }

  async close(): Promise<void> {
    await Promise.all([this.#vitest.close(), this.#vitestOfOrms.close()])
  }

  async run(mutant: Mutant): Promise<MutantResult> {
    const original = fs.readFileSync(this.#fileOf(mutant), 'utf8')
    const count = original.split(mutant.search).length - 1
    if (count !== 1)
      return { status: 'stale', detail: `its text is ${count} times in ${mutant.file}` }
    const quick = await this.#judge(mutant, CHANGED_TEST_MS)
    return quick ?? (await this.#judge(mutant, undefined)) ?? TAKES_TOO_LONG
  }

  /** Nothing where a test is late, and would be without the change. */
  async #judge(mutant: Mutant, testLimitMs: number | undefined): Promise<MutantResult | undefined> {
    const changed = await this.#runChanged(mutant, testLimitMs)
    if (changed.status === 'passed') return { status: 'survived', detail: '' }
    if (changed.status === 'nothing') return { status: 'broken', detail: changed.detail }

    const isLate = changed.status === 'late'
    const isShort = isLate && testLimitMs !== undefined
    const unchanged = await this.#runUnchanged(
      mutant,
      changed,
      isShort ? testLimitMs / 2 : undefined,
    )
    if (unchanged.status === 'late' && isShort) return undefined
    if (unchanged.status !== 'passed')
      return { status: 'broken', detail: describeUnchanged(unchanged) }
    return { status: isLate ? 'late' : 'killed', detail: `by: ${changed.detail}` }
  }

  async #runChanged(mutant: Mutant, testLimitMs: number | undefined): Promise<TestRun> {
    const file = this.#fileOf(mutant)
    const original = fs.readFileSync(file, 'utf8')
    const changed = original.replace(mutant.search, () => mutant.replace)
    fs.writeFileSync(file, changed)
    try {
      return await this.#runTests(mutant, { named: mutant.named, testLimitMs })
    } finally {
      fs.writeFileSync(file, original)
    }
  }

  /** The test that failed; all of them where none did, or where its name depends on the change. */
  async #runUnchanged(
    mutant: Mutant,
    { test }: TestRun,
    testLimitMs: number | undefined,
  ): Promise<TestRun> {
    if (test !== undefined) {
      const named = `^${test.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`
      const run = await this.#runTests(mutant, { named, testLimitMs })
      if (run.status !== 'nothing') return run
    }
    return this.#runTests(mutant, { named: mutant.named, testLimitMs })
  }

  async #runTests(
    { tests, file }: Mutant,
    request: Pick<RunRequest, 'named' | 'testLimitMs'>,
  ): Promise<TestRun> {
    const isOfOrms = tests.every((test) => test.startsWith('test/orms/'))
    const vitest = isOfOrms ? this.#vitestOfOrms : this.#vitest
    // The package is built and packed when a run starts, and would be that of another entry.
    if (tests.some((test) => test.startsWith('test/package/'))) await vitest.close()
    const heard = await vitest.run({ ...request, tests, changed: file })
    if (heard === 'hung') return { status: 'late', detail: 'the tests did not end' }
    if ('ended' in heard) return { status: 'nothing', detail: heard.ended }
    return judgeReport(heard)
  }

  #fileOf({ file }: Mutant): string {
    return path.join(this.#copy, file)
  }
}

function describeUnchanged({ detail, message }: TestRun): string {
  return [`fails without the change: ${detail}`, ...(message === undefined ? [] : [message])].join(
    '\n',
  )
}

const TAKES_TOO_LONG: MutantResult = {
  status: 'broken',
  detail: 'fails without the change: its tests take too long',
}

/** What a test says that ran out of time, in Vitest's words and in those of our `until`. */
const LATE = /^((Test|Hook) timed out in|Waited in vain until)/

function judgeReport({ passed, failed, errors }: RunReport): TestRun {
  const isLate = ({ messages }: (typeof failed)[number]) =>
    messages.length > 0 && messages.every((message) => LATE.test(message))
  const first = failed.find((test) => !isLate(test)) ?? failed[0]
  if (first !== undefined)
    return {
      status: isLate(first) ? 'late' : 'failed',
      detail: first.name,
      test: first.name,
      message: first.messages.join('\n').slice(0, 500),
    }
  if (errors.length === 0 && passed > 0) return { status: 'passed', detail: '' }
  return { status: 'nothing', detail: errors.join('\n').slice(0, 2_000) || 'no test ran' }
}
