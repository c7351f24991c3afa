/**
 * What the entries of the package export, as the compiler sees it.
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { ROOT } from './markdown.ts'

/** Something that a user can name: an export, or a member of one, such as `WorkerOptions.pollMs`. */
export interface PublicName {
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  readonly kind: 'export' | 'option' | 'method'
  /** Its documentation comment, without tags. */
  readonly text: string
  readonly tags: readonly string[]
  readonly isOptional: boolean
  /** What its `@defaultValue` says, without backticks. */
  readonly defaultValue: string | undefined
}

/** Every export of every entry, every member of an exported `…Options`, every method of an exported class. */
export function listPublicNames(): readonly PublicName[] {
  publicNames ??= readPublicNames(listEntryFiles())
  return publicNames
}

/** Read once for all files that this worker runs. */
let publicNames: readonly PublicName[] | undefined

function readPublicNames(files: readonly string[]): readonly PublicName[] {
  const program = ts.createProgram([...files], readCompilerOptions())
  const checker = program.getTypeChecker()
  const symbols = files.flatMap((file) => {
    const source = program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${file} exports nothing`)
    return checker.getExportsOfModule(module)
  })
  const own = symbols.map((symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  )
  return [...new Set(own)].flatMap((symbol) => [
    describeSymbol(checker, symbol, symbol.name, 'export'),
    ...listMembers(checker, symbol),
  ])
}

/** The source of every entry in `package.json` that has types. */
function listEntryFiles(): readonly string[] {
  const manifest = fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')
  const { exports } = JSON.parse(manifest) as {
    exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'string'
      ? []
      : [path.join(ROOT, entry.types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))],
  )
}

function listMembers(checker: ts.TypeChecker, owner: ts.Symbol): readonly PublicName[] {
  return (owner.declarations ?? []).flatMap((declaration) => {
    if (ts.isInterfaceDeclaration(declaration) && owner.name.endsWith('Options'))
      return describeMembers(checker, owner, declaration.members, 'option')
    if (ts.isClassDeclaration(declaration))
      return describeMembers(
        checker,
        owner,
        declaration.members.filter((member) => ts.isMethodDeclaration(member) && isPublic(member)),
        'method',
      )
    return []
  })
}

function describeMembers(
  checker: ts.TypeChecker,
  owner: ts.Symbol,
  members: readonly (ts.TypeElement | ts.ClassElement)[],
  kind: PublicName['kind'],
): readonly PublicName[] {
  return members.flatMap(({ name }) => {
    const symbol = name === undefined ? undefined : checker.getSymbolAtLocation(name)
    if (name === undefined || symbol === undefined) return []
    return [describeSymbol(checker, symbol, `${owner.name}.${name.getText()}`, kind)]
  })
}

function isPublic(member: ts.MethodDeclaration): boolean {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
  return !ts.isPrivateIdentifier(member.name) && !(ts.getCombinedModifierFlags(member) & hidden)
}

function describeSymbol(
  checker: ts.TypeChecker,
  symbol: ts.Symbol,
  name: string,
  kind: PublicName['kind'],
): PublicName {
  const tags = symbol.getJsDocTags(checker)
  const said = tags.find((tag) => tag.name === 'defaultValue')
  return {
    name,
    file: path.relative(ROOT, symbol.declarations?.[0]?.getSourceFile().fileName ?? ''),
    kind,
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim(),
    tags: tags.map((tag) => tag.name),
    defaultValue:
      said === undefined
        ? undefined
        : ts.displayPartsToString(said.text).trim().replaceAll('`', ''),
    isOptional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
  }
}

function readCompilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile) as {
    config: unknown
  }
  return ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options
}
