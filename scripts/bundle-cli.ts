/**
 * Makes one file of the command and the gateway, with the packages that they need, so that a user of the library
 * installs none of these. Beside it lies what reads a config in TypeScript. Part of `npm run build`, after the compiler.
 *
 * The library itself stays outside: a config file that imports `hookonce/providers` and the gateway that runs it have
 * the same code in memory.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = path.join(ROOT, 'src')
const FOLDER = path.join(ROOT, 'dist/cli')

/** What is taken in. Everything else below `src` is in `dist` already. */
const TAKEN = ['cli', 'gateway'].map((folder) => path.join(SOURCE, folder) + path.sep)

const leaveLibraryOutside: Plugin = {
  name: 'leave-library-outside',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path: specifier, resolveDir }) => {
      const file = path.resolve(resolveDir, specifier)
      const isOurs = file.startsWith(SOURCE + path.sep)
      if (!isOurs || TAKEN.some((folder) => file.startsWith(folder))) return undefined
      const built = path.relative(SOURCE, file).replaceAll(path.sep, '/').replace(/\.ts$/, '.js')
      return { path: `../${built}`, external: true }
    })
  },
}

/**
 * The SDK of MCP brings a validator of JSON Schema, for what a server asks its client. We ask nothing, and what a tool
 * is given is checked by the schema of its route. Measured: 217,000 bytes of 542,000.
 */
const leaveValidatorOut: Plugin = {
  name: 'leave-validator-out',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path: specifier }) => ({
      path: specifier,
      namespace: 'without-validator',
    }))
    onLoad({ filter: /./, namespace: 'without-validator' }, () => ({ contents: SHIMS }))
  },
}

const SHIMS = `
export { default as process } from 'node:process'
export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error('scripts/bundle-cli.ts has left the validator out')
  }
}`

/** What turns a config in TypeScript into JavaScript. Beside the one file, and loaded only where there is such a config. */
const TRANSFORMER = 'babel.cjs'

/** jiti looks for it in its own package, which a user does not have. */
const findTransformerBeside: Plugin = {
  name: 'find-transformer-beside',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]jiti[\\/]lib[\\/]jiti\.mjs$/ }, ({ path: file }) => {
      const named = `../dist/${TRANSFORMER}`
      const text = fs.readFileSync(file, 'utf8')
      if (!text.includes(named)) throw new Error(`${file} does not load ${named} any more`)
      return { contents: text.replace(named, `./${TRANSFORMER}`) }
    })
  },
}

const { metafile } = await build({
  entryPoints: [path.join(SOURCE, 'cli/main.ts')],
  outfile: path.join(FOLDER, 'main.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Names in a stack trace are worth more than the bytes.
  minifySyntax: true,
  minifyWhitespace: true,
  external: ['pg-native', 'libsql'],
  plugins: [leaveLibraryOutside, leaveValidatorOut, findTransformerBeside],
  metafile: true,
  // Packages in CommonJS call `require`, which a module does not have.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
})

fs.copyFileSync(
  path.join(ROOT, 'node_modules/jiti/dist', TRANSFORMER),
  path.join(FOLDER, TRANSFORMER),
)
fs.writeFileSync(path.join(FOLDER, 'LICENSES.txt'), collectLicences(Object.keys(metafile.inputs)))
fs.chmodSync(path.join(FOLDER, 'main.js'), 0o755)

/** The licence of every package that is in the file: most ask for that. */
function collectLicences(inputs: readonly string[]): string {
  const folders = new Set(
    inputs.flatMap((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []),
  )
  const texts = [...folders].toSorted().map((folder) => {
    const manifest = JSON.parse(
      fs.readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8'),
    ) as { readonly name: string; readonly version: string; readonly license?: string }
    const file = fs
      .readdirSync(path.join(ROOT, folder))
      .find((name) => /^licen[cs]e(\.|$)/i.test(name))
    const text = file === undefined ? '' : fs.readFileSync(path.join(ROOT, folder, file), 'utf8')
    return `${manifest.name} ${manifest.version} (${manifest.license ?? 'see below'})\n\n${text.trim()}`
  })
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
