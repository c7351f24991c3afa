/**
 * A folder like that of a user: `hookonce` is in its `node_modules` as npm has put it there from the packed package
 * (`packed/global-setup.ts`), beside the packages that the user has installed with it, and nothing else.
 *
 * @module
 */

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { inject, onTestFinished } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../..')

/** What npm installs for a package that a user asks for. */
const INSTALLED_WITH: Readonly<Record<string, readonly string[]>> = {
  hookonce: [],
  libsql: ['libsql', '@libsql', '@neon-rs', 'detect-libc'],
  // What these need is found beside them, where the links lead.
  pg: ['pg'],
  'drizzle-orm': ['drizzle-orm'],
  kysely: ['kysely'],
  knex: ['knex'],
}

export interface UserProject {
  readonly folder: string
  /** Writes a file, and the folders it is in. */
  write(file: string, text: string): void
}

/** For the length of the running test. `packages` are those of the user's `npm i`. */
export function createUserProject(
  files: Readonly<Record<string, string>> = {},
  packages: readonly string[] = ['hookonce', 'libsql'],
): UserProject {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-user-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const write: UserProject['write'] = (file, text) => {
    const target = path.join(folder, file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(target, text)
  }
  write('package.json', '{"type":"module","private":true}\n')
  for (const [file, text] of Object.entries(files)) write(file, text)
  fs.cpSync(inject('packed').installed, path.join(folder, 'node_modules/hookonce'), {
    recursive: true,
    // Half of the files, which nothing that runs reads.
    filter: (file) => !/\.(c?ts|md)$/.test(file),
  })
  for (const name of packages.flatMap(listInstalledWith)) {
    fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(folder, 'node_modules', name))
  }
  return { folder, write }
}

function listInstalledWith(name: string): readonly string[] {
  const installed = INSTALLED_WITH[name]
  if (installed === undefined) throw new Error(`No test knows what npm installs for ${name}`)
  return installed
}
