/**
 * Writes the types that a `require` of an entry finds, as a `.d.cts`. Part of `npm run build`, after the compiler. What
 * runs is the module, or what `write-commonjs-code.ts` writes.
 *
 * Under `module: 'node16'` TypeScript refuses to `require` what has the declarations of a module, though Node can. Our
 * own types are not written a second time: a `.d.cts` takes them from the module's declarations, so that a class is
 * the same type on both sides. What an entry says of another package's types is copied, and so it is that package's
 * CommonJS declarations, which are those that the user's own file gets.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** In a `.d.cts`, an import that is resolved as that of a module. */
const AS_MODULE = `with { 'resolution-mode': 'import' }`

interface Entry {
  readonly types: string
  readonly require?: { readonly types: string }
}

function main(): void {
  const { exports } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | Entry>>
  }
  const entries = Object.values(exports).filter((entry) => typeof entry !== 'string')
  const program = ts.createProgram(
    entries.map(({ types }) => path.join(ROOT, types)),
    {
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
      types: [],
      noEmit: true,
    },
  )
  // Until then a node does not know its file.
  program.getTypeChecker()
  for (const entry of entries) {
    if (entry.require === undefined) throw new Error(`${entry.types} has nothing for require`)
    const { types } = entry.require
    fs.writeFileSync(path.join(ROOT, types), writeTypes(program, path.join(ROOT, entry.types)))
  }
}

function writeTypes(program: ts.Program, file: string): string {
  const source = program.getSourceFile(file)
  if (source === undefined) throw new Error(`${file} is not built`)
  const lines = source.statements.map((statement, at) => {
    if (ts.isImportDeclaration(statement) && isOurs(statement.moduleSpecifier))
      return importTypes(statement)
    if (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined)
      return exportAgain(program, statement, `module${at}`)
    return statement.getFullText(source).trim()
  })
  return `${lines.join('\n')}\n`
}

function isOurs(specifier: ts.Expression): boolean {
  return ts.isStringLiteral(specifier) && specifier.text.startsWith('.')
}

/** As it is, with the comment of the file where it is the first. */
function importTypes(statement: ts.ImportDeclaration): string {
  const source = statement.getSourceFile()
  const names = statement.importClause?.getText(source).replace(/^type /, '')
  if (names === undefined) throw new Error(`${source.fileName} imports for an effect`)
  const comment = source.text.slice(statement.getFullStart(), statement.getStart(source)).trim()
  return `${comment}\nimport type ${names} from ${nameBuilt(statement.moduleSpecifier)} ${AS_MODULE};`.trim()
}

/** The compiler leaves names of sources in declarations. */
function nameBuilt(specifier: ts.Expression | undefined): string {
  if (specifier === undefined || !ts.isStringLiteral(specifier)) throw new Error('No specifier')
  return `'${specifier.text.replace(/\.ts$/, '.js')}'`
}

/** A name that an entry has from another file. */
interface Reexport {
  readonly name: string
  /** Its name there. */
  readonly original: string
  readonly declared: ts.Symbol
  readonly isType: boolean
}

/**
 * What is handed on is resolved as a module's, and so are the classes of other packages in it. A CommonJS file has those
 * packages' classes for CommonJS, which are other ones. Such a type is declared in the entry, which is copied.
 */
function requireOwnClasses(checker: ts.TypeChecker, { name, declared }: Reexport): void {
  for (const declaration of declared.getDeclarations() ?? [])
    visit(declaration, (node) => {
      if (!ts.isIdentifier(node) || !isForeignClass(checker, node)) return
      throw new Error(
        `${name} is made of ${node.text}, a class of another package: declare ${name} in the entry itself`,
      )
    })
}

function isForeignClass(checker: ts.TypeChecker, node: ts.Identifier): boolean {
  const named = checker.getSymbolAtLocation(node)
  if (named === undefined || !(named.flags & ts.SymbolFlags.Alias)) return false
  const { flags, declarations = [] } = checker.getAliasedSymbol(named)
  // Those of Node are the same for both.
  const isForeign = declarations.some((one) =>
    /\/node_modules\/(?!@types\/)/.test(one.getSourceFile().fileName),
  )
  return isForeign && (flags & ts.SymbolFlags.Class) !== 0
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, (child) => {
    visit(child, see)
  })
}

/** Types can be handed on. What is a value as well is declared as that of the module. */
function exportAgain(program: ts.Program, statement: ts.ExportDeclaration, alias: string): string {
  const source = statement.getSourceFile()
  const from = `from ${nameBuilt(statement.moduleSpecifier)} ${AS_MODULE};`
  const comment = source.text.slice(statement.getFullStart(), statement.getStart(source)).trim()
  const names = listReexports(program.getTypeChecker(), statement)
  for (const one of names) requireOwnClasses(program.getTypeChecker(), one)
  const types = names.filter(({ isType }) => isType)
  const values = names.filter(({ isType }) => !isType)
  const specifiers = types.map(({ name, original }) =>
    name === original ? name : `${original} as ${name}`,
  )
  return [
    ...(comment === '' ? [] : [comment]),
    ...(types.length === 0 ? [] : [`export type { ${specifiers.join(', ')} } ${from}`]),
    ...(values.length === 0 ? [] : [`import type * as ${alias} ${from}`]),
    ...values.flatMap((one) => declareValue(one, alias)),
  ].join('\n')
}

function listReexports(
  checker: ts.TypeChecker,
  { exportClause, moduleSpecifier, isTypeOnly }: ts.ExportDeclaration,
): readonly Reexport[] {
  const resolve = (symbol: ts.Symbol | undefined): ts.Symbol => {
    if (symbol === undefined) throw new Error('An entry exports what is nowhere')
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  }
  const describe = (name: string, original: string, symbol: ts.Symbol | undefined): Reexport => {
    const declared = resolve(symbol)
    const isType = isTypeOnly || !(declared.flags & ts.SymbolFlags.Value)
    return { name, original, declared, isType }
  }
  if (exportClause === undefined) {
    const file = moduleSpecifier && checker.getSymbolAtLocation(moduleSpecifier)
    const symbols = file === undefined ? [] : checker.getExportsOfModule(file)
    return symbols.map((symbol) => describe(symbol.name, symbol.name, symbol))
  }
  if (!ts.isNamedExports(exportClause)) throw new Error('An entry exports a namespace')
  return exportClause.elements.map((element) =>
    describe(
      element.name.text,
      (element.propertyName ?? element.name).text,
      checker.getExportSpecifierLocalTargetSymbol(element),
    ),
  )
}

function declareValue({ name, original, declared }: Reexport, alias: string): readonly string[] {
  const value = `export declare const ${name}: typeof ${alias}.${original};`
  const [declaration] = declared.getDeclarations() ?? []
  const docs = declaration === undefined ? [] : ts.getJSDocCommentsAndTags(declaration)
  const comments = docs.filter(ts.isJSDoc).map((doc) => doc.getText())
  if (!(declared.flags & ts.SymbolFlags.Type)) return [...comments, value]
  const isGeneric = declared.declarations?.some(
    (one) => (one as ts.ClassDeclaration).typeParameters !== undefined,
  )
  if (isGeneric === true) throw new Error(`${name} is generic: write its parameters here as well`)
  return [...comments, value, `export type ${name} = ${alias}.${original};`]
}

main()
