import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BENCH_DIR, COMPILED_DIR } from '../harness/folders.ts'
import { compileInto } from './build-without.ts'

const ROOT = resolve(BENCH_DIR, '..')
/** What `git show` gives of one commit at most. */
const OUTPUT_MAX = 64 * 1024 * 1024

export interface CommitBuild {
  /** The first of its digits, for names. */
  readonly commit: string
  readonly build: string
}

/**
 * A copy of what was just compiled, with the package as it was at a commit. The subjects are those of this tree, so that
 * both are measured by the same hands; a commit whose package they do not fit fails when it is run.
 */
export function buildOf(revision: string): CommitBuild {
  const commit = git('rev-parse', '--verify', '--short=8', `${revision}^{commit}`).trim()
  const build = join(BENCH_DIR, 'node_modules', '.against', commit)
  rmSync(build, { recursive: true, force: true })
  cpSync(COMPILED_DIR, build, { recursive: true })
  rmSync(join(build, 'src'), { recursive: true })
  const files = git('ls-tree', '-r', '--name-only', commit, 'src')
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  compileInto(build, new Map(files.map((file) => [file, git('show', `${commit}:${file}`)])))
  return { commit, build }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: OUTPUT_MAX })
}
