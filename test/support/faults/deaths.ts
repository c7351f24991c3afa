import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Engine } from './fault-database.ts'
import type { UnseenTrap } from './subject-messages.ts'

/**
 * Where processes of a test have died: each at the first statement boundary it came to at which no process
 * before it had. When one lives to see its event through, it has been at no other boundary than these.
 */
export class Deaths {
  readonly trap: UnseenTrap

  constructor(except?: RegExp) {
    const dir = mkdtempSync(join(tmpdir(), 'hookonce-deaths-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const diedAt = join(dir, 'boundaries')
    this.trap = { then: 'kill', diedAt, ...(except && { except: except.source }) }
  }

  /** As `phase: statement`, in the order in which they died. */
  list(): readonly string[] {
    const lines = readFileSync(this.trap.diedAt, 'utf8').split('\n')
    return lines.filter((line) => line !== '')
  }
}

/**
 * That processes have died before each of these statements, while it was on its way, and after it where it commits:
 * after any other one they have died before the next.
 */
export function expectDeathsAt(
  deaths: Deaths,
  engine: Engine,
  statements: readonly RegExp[],
): void {
  const names = deaths.list()
  const commits = statements.filter(({ source }) => COMMITS.test(source))
  const wanted = {
    before: statements,
    // SQLite answers before the call returns: there is no moment in between.
    sent: engine === 'postgres' ? statements : [],
    after: commits,
  }
  const missed = Object.entries(wanted).flatMap(([phase, texts]) =>
    texts
      .filter((text) => !names.some((name) => name.startsWith(`${phase}: `) && text.test(name)))
      .map((text) => `${phase}: ${text.source}`),
  )
  expect(missed).toEqual([])
}

const COMMITS = /commit/
