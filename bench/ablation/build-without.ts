import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { BENCH_DIR } from '../harness/folders.ts'
import { applyChanges } from './apply-changes.ts'
import type { Part } from './parts.ts'

const ROOT = resolve(BENCH_DIR, '..')
/** What the subjects are compiled from. */
const SOURCES = ['src', 'bench', 'test/support', 'tsconfig.json', 'package.json']
const LEFT_OUT = new Set(['node_modules', 'results'])

export type Build = { readonly build: string } | { readonly broken: string }

/**
 * Compiles a copy of the sources without a part. The output goes beside that of the bench, where packages are found
 * as from there.
 */
export function buildWithout({ name, changes }: Part): Build {
  const copy = mkdtempSync(join(tmpdir(), 'hookonce-ablation-'))
  try {
    for (const source of SOURCES)
      cpSync(join(ROOT, source), join(copy, source), {
        recursive: true,
        filter: (file) => !LEFT_OUT.has(basename(file)),
      })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    symlinkSync(join(BENCH_DIR, 'node_modules'), join(copy, 'bench', 'node_modules'))
    const stale = applyChanges(copy, changes)
    return stale === undefined ? compile(copy, name) : { broken: stale }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function compile(copy: string, name: string): Build {
  const build = join(BENCH_DIR, 'node_modules', '.ablated', name)
  rmSync(build, { recursive: true, force: true })
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
  const project = join(copy, 'bench', 'tsconfig.compile.json')
  const { status, stdout } = spawnSync(tsc, ['-p', project, '--outDir', build], {
    encoding: 'utf8',
  })
  if (status !== 0) return { broken: stdout.slice(0, 2_000) }
  mkdirSync(build, { recursive: true })
  // Without it Node takes the compiled files for CommonJS: a package ends at its node_modules.
  writeFileSync(join(build, 'package.json'), '{ "type": "module" }\n')
  return { build }
}
