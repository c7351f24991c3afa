/**
 * SQLite for `hookonce dev` on Node 20, which has none of its own. The package does not bring one along: 19 MB, which
 * no user of PostgreSQL needs (docs/decisions/2026-11-dev-installs-its-sqlite.md).
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { HookonceError } from '../../errors.ts'
import { DEV_FOLDER, makeDevFolder } from '../../gateway/dev-folder.ts'
import { findSqliteProblem } from '../../gateway/sqlite-binding.ts'
import type { Screen } from './screen.ts'

/** The one that the tests run with. */
export const LIBSQL_VERSION = '0.5.29'

/** How it is found out whether to install. */
export interface InstallTerms {
  readonly screen: Screen
  /** `undefined` where there is no terminal to ask on. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined
  readonly isAgreed: boolean
}

/**
 * Returns when there is a SQLite that works.
 *
 * @throws HookonceError DRIVER_MISSING with what to do, where it was not agreed to, or could not be installed
 */
export async function installSqlite(folder: string, terms: InstallTerms): Promise<void> {
  const problem = await findSqliteProblem(folder)
  if (problem === undefined) return
  const what = `libsql ${LIBSQL_VERSION}, 19 MB, into ${DEV_FOLDER}/node_modules`
  terms.screen.line(`Node ${process.versions.node} has no SQLite of its own; 22.13 has.`)
  const isAgreed = terms.isAgreed || (await terms.confirm?.(`Install ${what}? [Y/n] `)) === true
  if (!isAgreed)
    throw new HookonceError(
      'DRIVER_MISSING',
      `There is no SQLite. \`hookonce dev --yes\` installs ${what}; \`--store postgres://…\` needs none`,
      { cause: problem },
    )
  terms.screen.line(`Installing ${what} …`)
  await runNpm(makeDevFolder(folder))
  const left = await findSqliteProblem(folder)
  if (left !== undefined) throw left
}

/** Without scripts: the binding is a file for each platform, and nothing is built. */
async function runNpm(folder: string): Promise<void> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix=.']
  const child = spawn('npm', ['install', ...flags, `libsql@${LIBSQL_VERSION}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    // On Windows npm is a script, which only a shell runs. Nothing in the line is a user's text.
    shell: process.platform === 'win32',
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code === 0) return
  throw new HookonceError(
    'DRIVER_MISSING',
    `npm could not install libsql ${LIBSQL_VERSION}: its message is above. Use Node 22.13 or later, or \`--store postgres://…\``,
  )
}
