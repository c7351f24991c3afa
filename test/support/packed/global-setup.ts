/**
 * The package as a user gets it: packed by npm, and installed by npm into an empty folder without a network. Once for a
 * run; it is built before, unless what is built is younger than its sources.
 *
 * @module
 */

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { provideOnce } from '../provide-once.ts'

const ROOT = path.join(import.meta.dirname, '../../..')

/** What a build is made of, and the last file that it writes. */
const SOURCES = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
const SCRIPTS = [
  'scripts/bundle-cli.ts',
  'scripts/write-commonjs-code.ts',
  'scripts/write-commonjs-types.ts',
]
const BUILT_LAST = 'dist/types/stripe.d.cts'

export interface Packed {
  readonly tarball: string
  /** `node_modules/hookonce` of the folder that it was installed into. */
  readonly installed: string
}

declare module 'vitest' {
  interface ProvidedContext {
    packed: Packed
  }
}

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return provideOnce(project, 'packed', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-packed-'))
    const dispose = async () => fs.rmSync(folder, { recursive: true, force: true })
    return { value: pack(folder), dispose }
  })
}

function pack(folder: string): Packed {
  if (isStale()) npm(['run', 'build', '--silent'], ROOT)
  npm(['pack', '--ignore-scripts', '--pack-destination', folder], ROOT)
  const [name] = fs.readdirSync(folder)
  if (name === undefined) throw new Error('npm pack wrote nothing')
  const tarball = path.join(folder, name)
  const project = path.join(folder, 'project')
  fs.mkdirSync(project)
  fs.writeFileSync(path.join(project, 'package.json'), '{"private":true}')
  npm(['install', '--offline', '--no-audit', '--no-fund', tarball], project)
  return { tarball, installed: path.join(project, 'node_modules/hookonce') }
}

function isStale(): boolean {
  const built = path.join(ROOT, BUILT_LAST)
  if (!fs.existsSync(built)) return true
  const sources = fs.readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const files = [...SOURCES, ...SCRIPTS, ...sources.map((file) => path.join('src', file))]
  const since = fs.statSync(built).mtimeMs
  return files.some((file) => fs.statSync(path.join(ROOT, file)).mtimeMs > since)
}

function npm(args: readonly string[], cwd: string): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}
