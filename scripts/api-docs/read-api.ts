/**
 * What each entry of the package exports: its kind, its declaration without a body, its documentation and its members.
 *
 * @module
 */

import fs from 'node:fs'
import ts from 'typescript'
import { listExports, listPublicEntries, readEntryProgram } from '../public-entries.ts'
import type { PublicEntry } from '../public-entries.ts'
import { findKind, writeCell, writeSignature } from './declarations.ts'
import type { ExportKind } from './declarations.ts'
import { readDocText, readModuleText } from './doc-text.ts'
import type { DocText } from './doc-text.ts'

/** An entry, and what it is the first to export. */
export interface ApiEntry extends PublicEntry {
  /** What the file says about itself. */
  readonly text: string
  readonly exports: readonly ApiExport[]
  /** The ids of what an entry before it exports too, and is told of there. */
  readonly elsewhere: readonly string[]
}

export interface ApiExport {
  /** The entry that it is told of under, and its name: two entries may use one name for two things. */
  readonly id: string
  readonly name: string
  readonly kind: ExportKind
  /** The file with the declaration, as an absolute path. */
  readonly file: string
  /** Empty where the name and the members say it all. */
  readonly signature: string
  readonly doc: DocText
  readonly properties: readonly ApiMember[]
  readonly methods: readonly ApiMember[]
  /** The ids of other exports that it speaks of. */
  readonly uses: readonly string[]
}

export interface ApiMember {
  readonly name: string
  readonly isOptional: boolean
  /** The type of a property, in one line; the declarations of a method. */
  readonly signature: string
  readonly doc: DocText
}

interface Reader {
  readonly checker: ts.TypeChecker
  /** Of every symbol that some entry exports. */
  readonly ids: ReadonlyMap<ts.Symbol, string>
}

/** All of it, in the order of `package.json`. */
export function readApi(): readonly ApiEntry[] {
  const program = readEntryProgram()
  const ids = new Map<ts.Symbol, string>()
  const exported = listPublicEntries().map((entry) => {
    const all = [...listExports(program, entry)]
      .filter(([, symbol]) => !symbol.declarations?.some(isHidden))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const own = all.filter(([, symbol]) => !ids.has(symbol))
    for (const [name, symbol] of own) ids.set(symbol, `${entry.specifier}#${name}`)
    return { entry, all, own }
  })
  const reader: Reader = { checker: program.getTypeChecker(), ids }
  return exported.map(({ entry, all, own }) => ({
    ...entry,
    text: readModuleText(entry.specifier, fs.readFileSync(entry.file, 'utf8')),
    exports: own.map(([name, symbol]) => describeExport(reader, name, symbol)),
    elsewhere: all.filter((one) => !own.includes(one)).map(([, symbol]) => ids.get(symbol) ?? ''),
  }))
}

function describeExport(reader: Reader, name: string, symbol: ts.Symbol): ApiExport {
  const declarations = symbol.declarations ?? []
  const [first] = declarations
  if (first === undefined) throw new Error(`${name} is declared nowhere`)
  const members = listMembers(reader, symbol)
  const nodes = [...declarations, ...members.flatMap((member) => member.declarations ?? [])]
  return {
    id: reader.ids.get(symbol) ?? name,
    name,
    kind: findKind(name, first),
    file: first.getSourceFile().fileName,
    signature: writeSignature(reader.checker, declarations),
    doc: readDocText(reader.checker, symbol),
    properties: members
      .filter((member) => !isMethod(member))
      .map((member) => ({
        ...describeMember(reader, member),
        signature: writeCell(reader.checker, member),
      })),
    methods: members.filter(isMethod).map((member) => ({
      ...describeMember(reader, member),
      signature: writeSignature(reader.checker, member.declarations ?? []),
    })),
    uses: listUses(reader, symbol, nodes),
  }
}

function describeMember(
  { checker }: Reader,
  member: ts.Symbol,
): Pick<ApiMember, 'name' | 'isOptional' | 'doc'> {
  const name = member.declarations?.map(ts.getNameOfDeclaration).find((node) => node !== undefined)
  return {
    name: name?.getText() ?? member.name,
    isOptional: (member.flags & ts.SymbolFlags.Optional) !== 0,
    doc: readDocText(checker, member),
  }
}

function isMethod(member: ts.Symbol): boolean {
  return (member.flags & ts.SymbolFlags.Method) !== 0
}

/**
 * Of an interface or a class: its own members, and those that it has from one that no entry exports. What it has from
 * an exported one is told there, and what it has from the language in the language's own documentation.
 */
function listMembers({ checker, ids }: Reader, symbol: ts.Symbol): readonly ts.Symbol[] {
  if (!(symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class))) return []
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).filter((member) => {
    const [declaration] = member.declarations ?? []
    if (declaration === undefined || isHidden(declaration)) return false
    const owner = checker.getSymbolAtLocation(
      (declaration.parent as Partial<ts.ClassDeclaration>).name ?? declaration,
    )
    if (owner === symbol) return true
    const isOurs = !declaration.getSourceFile().fileName.includes('/node_modules/')
    return isOurs && (owner === undefined || !ids.has(owner))
  })
}

function isHidden(declaration: ts.Declaration): boolean {
  const name = ts.getNameOfDeclaration(declaration)
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
  return (
    (name !== undefined && ts.isPrivateIdentifier(name)) ||
    (ts.getCombinedModifierFlags(declaration) & hidden) !== 0 ||
    ts.getJSDocTags(declaration).some((tag) => tag.tagName.text === 'internal')
  )
}

function listUses(
  { checker, ids }: Reader,
  own: ts.Symbol,
  nodes: readonly ts.Node[],
): readonly string[] {
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node)) return
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node)
      const target =
        symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias
          ? checker.getAliasedSymbol(symbol)
          : symbol
      const id = target === undefined || target === own ? undefined : ids.get(target)
      if (id !== undefined) found.add(id)
    }
    ts.forEachChild(node, visit)
  }
  for (const node of nodes) visitSigned(node, visit)
  return [...found].sort()
}

/** The members of a class or an interface are among the nodes themselves, without those that are hidden. */
function visitSigned(node: ts.Node, visit: (node: ts.Node) => void): void {
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
    node.typeParameters?.forEach(visit)
    node.heritageClauses?.forEach(visit)
  } else if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) {
    if (node.type !== undefined) visit(node.type)
  } else {
    ts.forEachChild(node, visit)
  }
}
