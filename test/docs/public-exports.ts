/**
 * What the entries of the package export, as the compiler sees it.
 *
 * @module
 */

import path from 'node:path'
import ts from 'typescript'
import { listExports, listPublicEntries, readEntryProgram } from '../../scripts/public-entries.ts'
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
  publicNames ??= readPublicNames()
  return publicNames
}

/** Read once for all files that this worker runs. */
let publicNames: readonly PublicName[] | undefined

function readPublicNames(): readonly PublicName[] {
  const program = readEntryProgram()
  const checker = program.getTypeChecker()
  const symbols = listPublicEntries().flatMap((entry) => [...listExports(program, entry).values()])
  return [...new Set(symbols)].flatMap((symbol) => [
    describeSymbol(checker, symbol, symbol.name, 'export'),
    ...listMembers(checker, symbol),
  ])
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
    const member = describeSymbol(checker, symbol, `${owner.name}.${name.getText()}`, kind)
    // The build takes it out of the types.
    return member.tags.includes('internal') ? [] : [member]
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
