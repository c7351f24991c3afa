/**
 * A command in this process: its words, what it prints, what it asks and how it ends. A process of its own is slow to
 * start (`run-cli.ts`), and what a command prints does not depend on it.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { runProgram } from '../../src/cli/program.ts'
import type { Shell } from '../../src/cli/shell.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from './builders.ts'
import type { EventDraftInput } from './builders.ts'
import type { ClaimedEvent } from '../../src/store/contract/claimed-event.ts'
import type { Settlement } from '../../src/model/outcome.ts'
import { recordOne, runOne } from './store-steps.ts'
import type { QueryTx } from './store-under-test.ts'

export interface CommandTerms extends Partial<
  Pick<
    Shell,
    | 'folder'
    | 'environment'
    | 'columns'
    | 'isTerminal'
    | 'isInteractive'
    | 'hasColour'
    | 'interrupted'
  >
> {
  /** What is answered to what is asked, in its order. */
  readonly answers?: readonly string[]
  /** Told each line as it is printed. */
  readonly onPrint?: (line: string) => void
}

export interface CommandResult {
  readonly code: number
  readonly output: string
  readonly errors: string
  readonly lines: readonly string[]
  readonly questions: readonly string[]
  readonly progress: readonly string[]
}

export async function runCommand(
  words: readonly string[],
  { answers = [], onPrint, ...terms }: CommandTerms = {},
): Promise<CommandResult> {
  const printed: string[] = []
  const errors: string[] = []
  const questions: string[] = []
  const progress: string[] = []
  let code = 0
  await runProgram(
    {
      folder: tmpdir(),
      environment: { HOOKONCE_ACTOR: 'on-call@example.com' },
      columns: Infinity,
      isTerminal: terms.isInteractive === true,
      isInteractive: false,
      hasColour: false,
      interrupted: new AbortController().signal,
      ...terms,
      print: (text) => {
        printed.push(text)
        onPrint?.(text)
      },
      printError: (text) => void errors.push(text),
      write: (bytes) => void printed.push(Buffer.from(bytes).toString('latin1')),
      showProgress: (line) => void progress.push(line),
      ask: async (question) => answers[questions.push(question) - 1] ?? '',
      endWith: (given) => {
        code = given
      },
    },
    words,
  )
  const output = printed.join('\n')
  return { code, output, errors: errors.join('\n'), lines: output.split('\n'), questions, progress }
}

/** An empty folder, for the length of the running test. */
export function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface StoreOnFile {
  readonly store: Store<QueryTx>
  /** As `--store` takes it. */
  readonly url: string
  readonly file: string
}

/** A SQLite file with our tables, for the length of the running test. */
export async function aStoreOnFile(): Promise<StoreOnFile> {
  const file = join(aFolder(), 'inbox.db')
  const store = sqliteStore(file) as unknown as Store<QueryTx>
  await store.open()
  onTestFinished(() => store.close())
  return { store, file, url: `sqlite:${file}` }
}

/** An event that has run, and what it became. */
export async function anEventThat(
  store: Store<QueryTx>,
  becomes: (event: ClaimedEvent) => Settlement,
  draft: EventDraftInput = {},
): Promise<string> {
  const made = anEventDraft(draft)
  await recordOne(store, made)
  return runOne(store, becomes, { of: [[made.source, made.type]] })
}
