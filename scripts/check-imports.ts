/**
 * Holds the source tree to the table in `scripts/import-rules.ts`: who may import whom, no cycles
 * between files, nothing from outside.
 *
 * Reads the imports with the TypeScript parser, so that a comment or a string that looks like an
 * import is none, and `import()`, `export … from`, `import('…').Type` and `require('…')` are.
 *
 * @module
 */

import fs from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { IMPORT_RULES, OUTSIDE_BECAUSE, OUTSIDE_RULES } from './import-rules.ts'
import type { ImportRule } from './import-rules.ts'

/** One import that is not allowed. `file` and `target` are relative to the source folder. */
export interface Violation {
  readonly kind: 'edge' | 'outside' | 'cycle' | 'homeless' | 'unreadable'
  readonly file: string
  readonly target: string
  readonly because: string
}

interface Import {
  readonly specifier: string | undefined
  readonly form: 'static' | 'type' | 'dynamic'
}

/** Every forbidden import under `root`, in the order of the files' names. */
export function checkImports(root: string): readonly Violation[] {
  const files = listSourceFiles(root)
  const edges = new Map<string, readonly string[]>()
  const violations: Violation[] = []
  for (const file of files) {
    const imports = parseImports(file, fs.readFileSync(path.join(root, file), 'utf8'))
    violations.push(...imports.flatMap((found) => judge(file, found, files) ?? []))
    edges.set(
      file,
      imports.flatMap((found) => resolveOurs(file, found.specifier) ?? []),
    )
    if (findRule(file) !== undefined) continue
    const because =
      'Every file belongs to a part: give it one in scripts/import-rules.ts, with its reason.'
    violations.push({ kind: 'homeless', file, target: '', because })
  }
  return [...violations, ...findCycles(edges)]
}

/** Which part imports which, as the files under `root` do. */
export function listPartImports(root: string): ReadonlyMap<string, ReadonlySet<string>> {
  const parts = new Map<string, Set<string>>()
  for (const file of listSourceFiles(root)) {
    const part = findRule(file)?.part
    if (part === undefined) continue
    const targets = parts.get(part) ?? new Set()
    parts.set(part, targets)
    for (const { specifier } of parseImports(
      file,
      fs.readFileSync(path.join(root, file), 'utf8'),
    )) {
      const target = resolveOurs(file, specifier)
      const targetPart = target === undefined ? undefined : findRule(target)?.part
      if (targetPart !== undefined && targetPart !== part) targets.add(targetPart)
    }
  }
  return parts
}

function judge(file: string, found: Import, files: ReadonlySet<string>): Violation | undefined {
  const { specifier } = found
  if (specifier === undefined) {
    const mayCompute = OUTSIDE_RULES.some((rule) => rule.mayCompute && rule.files.test(file))
    if (mayCompute) return undefined
    const because = 'An import whose name is worked out at run time cannot be checked.'
    return { kind: 'unreadable', file, target: 'import(…)', because }
  }
  const target = resolveOurs(file, specifier)
  if (target === undefined) return judgeOutside(file, specifier, found.form)
  if (!files.has(target)) {
    return { kind: 'unreadable', file, target, because: 'There is no such file under src.' }
  }
  const rule = findRule(file)
  const targetPart = findRule(target)?.part
  if (rule === undefined || targetPart === undefined || rule.part === targetPart) return undefined
  if (rule.mayImport.includes(targetPart)) return undefined
  return { kind: 'edge', file, target, because: rule.because }
}

function judgeOutside(
  file: string,
  specifier: string,
  form: Import['form'],
): Violation | undefined {
  const rules = OUTSIDE_RULES.filter((rule) => rule.packages.includes(specifier))
  if (rules.length === 0 && specifier.startsWith('node:') && isBuiltin(specifier)) return undefined
  const allows = (rule: (typeof rules)[number]): boolean =>
    rule.files.test(file) && (rule.form === 'bundled' || form === (rule.form ?? 'dynamic'))
  if (rules.some(allows)) return undefined
  return { kind: 'outside', file, target: specifier, because: OUTSIDE_BECAUSE }
}

/** The path of an import of our own, from the source folder; `undefined` for a package. */
function resolveOurs(file: string, specifier: string | undefined): string | undefined {
  if (!specifier?.startsWith('.')) return undefined
  return path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier))
}

function findRule(file: string): ImportRule | undefined {
  let best: { rule: ImportRule; length: number } | undefined
  for (const rule of IMPORT_RULES) {
    const { path: own } = rule
    const matches = own.endsWith('/') ? file.startsWith(own) : file === own
    if (matches && own.length > (best?.length ?? 0)) best = { rule, length: own.length }
  }
  return best?.rule
}

function parseImports(file: string, text: string): readonly Import[] {
  const found: Import[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const form =
        node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type' : 'static'
      found.push({ specifier: literalText(node.moduleSpecifier), form })
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      const form = node.isTypeOnly ? 'type' : 'static'
      found.push({ specifier: literalText(node.moduleSpecifier), form })
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      found.push({ specifier: literalText(node.argument.literal), form: 'type' })
    } else if (ts.isCallExpression(node) && isLoading(node.expression)) {
      found.push({ specifier: literalText(node.arguments[0]), form: 'dynamic' })
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  return found
}

function isLoading(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true
  return ts.isIdentifier(callee) && callee.text === 'require'
}

function literalText(node: ts.Node | undefined): string | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined
}

/** Each cycle once, as `a → b → a`, found by walking every file's imports depth first. */
function findCycles(edges: ReadonlyMap<string, readonly string[]>): readonly Violation[] {
  const because = 'Of two files that need each other, neither can be read or tested first.'
  const cycles: Violation[] = []
  const finished = new Set<string>()
  const walk = (file: string, trail: readonly string[]): void => {
    if (finished.has(file)) return
    const start = trail.indexOf(file)
    if (start >= 0) {
      cycles.push({
        kind: 'cycle',
        file,
        target: [...trail.slice(start), file].join(' → '),
        because,
      })
      return
    }
    for (const target of edges.get(file) ?? []) walk(target, [...trail, file])
    finished.add(file)
  }
  for (const file of edges.keys()) walk(file, [])
  return cycles
}

function listSourceFiles(root: string): ReadonlySet<string> {
  const names = fs.readdirSync(root, { recursive: true, encoding: 'utf8' })
  const files = names
    .map((name) => name.split(path.sep).join('/'))
    .filter((name) => /\.[cm]?tsx?$/.test(name))
  return new Set(files.sort())
}

function main(): void {
  const root = fileURLToPath(new URL('../src', import.meta.url))
  const violations = checkImports(root)
  for (const { kind, file, target, because } of violations) {
    console.error(`${kind}: src/${file}${target === '' ? '' : ` → ${target}`}\n    ${because}`)
  }
  const count = listSourceFiles(root).size
  console.log(`imports: ${count} files, ${violations.length} violations`)
  if (violations.length > 0) process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
