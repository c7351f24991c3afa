import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'
import { BENCH_DIR, COMPILED_DIR } from '../harness/folders.ts'
import { applyChanges } from './apply-changes.ts'
import type { Part } from './parts.ts'

const ROOT = resolve(BENCH_DIR, '..')

export type Build = { readonly build: string } | { readonly stale: string }

/**
 * A copy of what was just compiled, with the files of a part compiled again from their changed text. It is beside the
 * other, so that packages are found as from there. Types are not checked: a change keeps them, and it runs.
 */
export function buildWithout({ name, changes }: Part): Build {
  const changed = applyChanges(changes, readSource)
  if ('stale' in changed) return changed
  const build = join(BENCH_DIR, 'node_modules', '.ablated', name)
  rmSync(build, { recursive: true, force: true })
  cpSync(COMPILED_DIR, build, { recursive: true })
  compileInto(build, changed.texts)
  return { build }
}

/** `texts` by their paths in the tree. Their types are not checked. */
export function compileInto(build: string, texts: ReadonlyMap<string, string>): void {
  const compilerOptions = readCompilerOptions()
  for (const [file, text] of texts) {
    const { outputText } = ts.transpileModule(text, { compilerOptions, fileName: file })
    const output = join(build, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(output), { recursive: true })
    writeFileSync(output, outputText)
  }
}

function readSource(file: string): string | undefined {
  const path = join(ROOT, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Those of the project. A file by itself has no package that says what kind of module it is. */
function readCompilerOptions(): ts.CompilerOptions {
  const read = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file))
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, ROOT)
  return {
    ...options,
    noEmit: false,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  }
}
