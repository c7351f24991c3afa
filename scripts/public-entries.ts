/**
 * The entries of the package as `package.json` names them, and the compiler's view of their sources.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What a user can import from. */
export interface PublicEntry {
  /** As a user writes it, such as `hookonce/sqlite`. */
  readonly specifier: string
  /** Its source, as an absolute path. */
  readonly file: string
}

/** Every entry in `package.json` that has types, in its order. */
export function listPublicEntries(): readonly PublicEntry[] {
  const manifest = fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')
  const { name, exports } = JSON.parse(manifest) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.entries(exports).flatMap(([key, entry]) =>
    typeof entry === 'string'
      ? []
      : [
          {
            specifier: path.posix.join(name, key),
            file: path.join(ROOT, entry.types.replace('./dist/', 'src/').replace('.d.ts', '.ts')),
          },
        ],
  )
}

/** The sources of all entries, and what they import, as the compiler sees them. Read once in a process. */
export function readEntryProgram(): ts.Program {
  entryProgram ??= createEntryProgram()
  return entryProgram
}

let entryProgram: ts.Program | undefined

function createEntryProgram(): ts.Program {
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile) as {
    config: unknown
  }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  return ts.createProgram(
    listPublicEntries().map(({ file }) => file),
    options,
  )
}

/** What an entry exports, under the names that it gives them; each symbol is that of the declaration. */
export function listExports(
  program: ts.Program,
  { specifier, file }: PublicEntry,
): ReadonlyMap<string, ts.Symbol> {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${specifier} exports nothing`)
  return new Map(
    checker
      .getExportsOfModule(module)
      .map((symbol) => [
        symbol.name,
        symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
      ]),
  )
}
