/**
 * `npm run bench`, `npm run ablate` and `npm run against`: installs the peers where they are missing, compiles, and runs.
 *
 * Compiled rather than run through `tsx`, because what is measured must be what users get: tsx wraps
 * every function to keep its name, which a hot path pays for. The output goes into `node_modules`,
 * where no formatter, linter or test runner looks.
 *
 * @module
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findNewerNode } from '../test/support/newer-node.ts'
import { NEWER_NODE } from './harness/child.ts'
import { prepareStack } from './stack/prepare-stack.ts'

const BENCH = import.meta.dirname
const PEERS = ['pg-boss', 'bullmq', '@dbos-inc/dbos-sdk', '@restatedev/restate-sdk']
const COMPILED = join(BENCH, 'node_modules', '.compiled')

const [first, ...rest] = process.argv.slice(2)
// The package against itself needs none of them.
if (first !== 'against' && PEERS.some((peer) => !existsSync(join(BENCH, 'node_modules', peer)))) {
  console.log('Installing the peers (npm install in bench/)')
  // Not `npm ci`, which wants every optional package of every platform in the lock file, also those that
  // a registry does not have.
  run('npm', ['install', '--no-save', '--no-fund', '--no-audit'], BENCH)
}
run('npx', ['tsc', '-p', join(BENCH, 'tsconfig.compile.json')], join(BENCH, '..'))
mkdirSync(COMPILED, { recursive: true })
// Without it Node takes the compiled files for CommonJS: a package ends at its node_modules.
writeFileSync(join(COMPILED, 'package.json'), '{ "type": "module" }\n')
// For W8, which runs on it beside the Node that runs this.
const newer = await findNewerNode()
if ('path' in newer && newer.path !== process.execPath) process.env[NEWER_NODE] = newer.path
// Half a minute and 300 MB where they are not there: not where other workloads are named.
if (first === undefined || first.startsWith('-') || process.argv.includes('W2-stack'))
  await prepareStack()
if (first === 'ablate' || first === 'against')
  run(process.execPath, [join(COMPILED, 'bench', `${first}.js`), ...rest], BENCH)
else run(process.execPath, [join(COMPILED, 'bench', 'run.js'), ...process.argv.slice(2)], BENCH)

function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
