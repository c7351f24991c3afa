/**
 * A process that keeps one Vitest and runs tests whenever it is asked to, by a message.
 *
 * What is started once for a run of tests, such as PostgreSQL, is started once for all of them, and a file is
 * transformed again only when it was changed. The processes that run the tests are new each time, so nothing that
 * they loaded before a change is used after it.
 *
 * @module
 */

import path from 'node:path'
import { createVitest } from 'vitest/node'
import type { TestCase, TestModule, TestSuite, Vitest } from 'vitest/node'
import type { RunReport, RunRequest } from './warm-vitest.ts'

/** For what is still to be stopped when the other side has gone. */
const CLOSE_MS = 30_000

async function main(): Promise<void> {
  const [root = '.', config] = process.argv.slice(2)
  const vitest = await createVitest('test', {
    root,
    watch: false,
    bail: 1,
    reporters: [{ onTestCaseReady: tellAlive, onTestCaseResult: tellAlive }],
    ...(config === undefined ? {} : { config }),
  })
  const limits = vitest.projects.map(({ config: { testTimeout, hookTimeout } }) => ({
    testTimeout,
    hookTimeout,
  }))
  process.on('message', (request: RunRequest) => {
    vitest.projects.forEach((project, at) => {
      Object.assign(project.config, limits[at], limitsFor(request))
    })
    void run(vitest, request).then((report) => process.send?.(report))
  })
  process.once('disconnect', () => {
    // A worker that never ends is ended with us: we lead a process group.
    setTimeout(() => process.kill(-process.pid, 'SIGKILL'), CLOSE_MS).unref()
    void vitest.close().finally(() => process.exit())
  })
  tellAlive()
}

function limitsFor({
  testLimitMs,
}: RunRequest): { testTimeout: number; hookTimeout: number } | undefined {
  if (testLimitMs === undefined) return undefined
  // Before and after tests, servers are started and stopped.
  return { testTimeout: testLimitMs, hookTimeout: 3 * testLimitMs }
}

function tellAlive(): void {
  process.send?.('alive')
}

async function run(vitest: Vitest, { tests, named, changed }: RunRequest): Promise<RunReport> {
  const absolute = (file: string) => path.resolve(vitest.config.root, file)
  if (changed !== undefined) vitest.invalidateFile(absolute(changed))
  const files = new Set(tests.map(absolute))
  const specifications = (await vitest.globTestSpecifications([...tests])).filter(({ moduleId }) =>
    files.has(moduleId),
  )
  if (named === undefined) vitest.resetGlobalTestNamePattern()
  else vitest.setGlobalTestNamePattern(new RegExp(named))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const modules = testModules.filter(({ moduleId }) => files.has(moduleId))
  const cases = modules.flatMap((module) => [...module.children.allTests()])
  return {
    passed: cases.filter((test) => test.result().state === 'passed').length,
    failed: cases.flatMap((test) => {
      const { state, errors = [] } = test.result()
      const messages = errors.map(({ message }) => message)
      return state === 'failed' ? [{ name: nameOf(test), messages }] : []
    }),
    errors: [...unhandledErrors, ...modules.flatMap(listErrors)].map(describeError),
  }
}

/** As it is matched with a pattern. */
function nameOf({ parent, name }: TestCase | TestSuite): string {
  return parent.type === 'module' ? name : `${nameOf(parent)} ${name}`
}

/** Why a file, or a part of it, could not be run at all. */
function listErrors(module: TestModule): readonly unknown[] {
  return [
    ...module.errors(),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
  ]
}

function describeError(error: unknown): string {
  const { message, stack } = error as { readonly message?: string; readonly stack?: string }
  return stack ?? message ?? String(error)
}

await main()
