/**
 * Declarations as a reader wants them: as they are written in the source, without bodies and without values.
 *
 * @module
 */

import ts from 'typescript'

export type ExportKind = 'function' | 'class' | 'interface' | 'type' | 'constant'

export function findKind(name: string, node: ts.Declaration): ExportKind {
  if (ts.isFunctionDeclaration(node)) return 'function'
  if (ts.isClassDeclaration(node)) return 'class'
  if (ts.isInterfaceDeclaration(node)) return 'interface'
  if (ts.isTypeAliasDeclaration(node)) return 'type'
  if (ts.isVariableDeclaration(node)) return 'constant'
  throw new Error(`${name} is neither a function nor a class, a type or a constant`)
}

/** The source of all declarations of one name. A function with overloads has these alone, as for a user. */
export function writeSignature(
  checker: ts.TypeChecker,
  declarations: readonly ts.Declaration[],
): string {
  const overloads = declarations.filter((node) => bodyOf(node) === undefined)
  return (overloads.length === 0 ? declarations : overloads)
    .map((node) => writeDeclaration(checker, node))
    .filter((text) => text !== '')
    .join('\n')
}

function writeDeclaration(checker: ts.TypeChecker, node: ts.Declaration): string {
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) return writeHead(node)
  if (ts.isVariableDeclaration(node)) return writeConstant(checker, node)
  return slice(node, bodyOf(node)?.getStart() ?? node.end)
}

/** What stands before the members. A name alone says nothing that the heading does not. */
function writeHead(node: ts.InterfaceDeclaration | ts.ClassDeclaration): string {
  if (node.typeParameters === undefined && node.heritageClauses === undefined) return ''
  return slice(node, node.getSourceFile().text.lastIndexOf('{', node.members.pos))
}

function writeConstant(checker: ts.TypeChecker, node: ts.VariableDeclaration): string {
  const { type, initializer } = node
  // A list of literals is its own best type: its source has the comments and the line breaks.
  const isLiteral = initializer !== undefined && ts.isAsExpression(initializer)
  if (type === undefined && isLiteral)
    return `const ${node.name.getText()} = ${initializer.getText()}`
  const text = type?.getText() ?? checker.typeToString(checker.getTypeAtLocation(node), node)
  return `const ${node.name.getText()}: ${text}`
}

function bodyOf(node: ts.Declaration): ts.Node | undefined {
  return (node as Partial<ts.FunctionDeclaration>).body
}

const LEFT_OUT: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ExportKeyword,
  ts.SyntaxKind.AsyncKeyword,
  ts.SyntaxKind.OverrideKeyword,
])

/** From the declaration's first word that matters to `end`, moved to the left margin. */
function slice(node: ts.Declaration, end: number): string {
  const source = node.getSourceFile()
  const modifiers = ts.canHaveModifiers(node) ? (ts.getModifiers(node) ?? []) : []
  const last = modifiers.filter(({ kind }) => LEFT_OUT.has(kind)).at(-1)
  const indent = source.getLineAndCharacterOfPosition(node.getStart()).character
  const text = source.text.slice(last?.end ?? node.getStart(), end).trim()
  return text.replaceAll(new RegExp(`^ {1,${Math.max(indent, 1)}}`, 'gm'), (spaces) =>
    indent === 0 ? spaces : '',
  )
}

const PRINTER = ts.createPrinter({ removeComments: true })

/** The type of a property in one line, for the cell of a table. */
export function writeCell(checker: ts.TypeChecker, member: ts.Symbol): string {
  const [node] = member.declarations ?? []
  const type = (node as Partial<ts.PropertySignature> | undefined)?.type
  if (node === undefined || type === undefined) {
    return checker.typeToString(checker.getTypeOfSymbol(member), node)
  }
  // The printer ends members with semicolons, which the source leaves to its line breaks.
  const text = PRINTER.printNode(ts.EmitHint.Unspecified, type, node.getSourceFile())
  return text.replaceAll(/\s+/g, ' ').replaceAll('; }', ' }').replace(/^\| /, '')
}
