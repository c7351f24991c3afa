/**
 * Writes the code that a `require` of an entry finds where nothing can load a module by `require`: in jest, whose module
 * system is its own, and in Node when it is told not to. Part of `npm run build`, after the compiler.
 *
 * Node itself never comes here: it takes the module, by the condition `module-sync`, and bundlers by `module`. So no
 * process has both. Code that entries share is in chunks beside them, so that a class is one class in all entries.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = path.join(ROOT, 'dist')

interface Entry {
  readonly default?: string
  readonly require?: { readonly default?: string }
}

const { exports } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | Entry>>
}
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === 'string' || entry.require?.default === undefined ? [] : [entry.default ?? ''],
)

// esbuild shares code between entries only among modules, so that these are made first.
const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: entries,
  outdir: path.join(BUILT, 'commonjs'),
  outbase: BUILT,
  outExtension: { '.js': '.cjs' },
  chunkNames: '[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  write: false,
})

for (const { path: file, text } of outputFiles) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    // jest has no `import()` without a flag of Node's.
    supported: { 'dynamic-import': false },
    // Names in a stack trace are worth more than the bytes.
    minifySyntax: true,
    minifyWhitespace: true,
  })
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, code)
}
