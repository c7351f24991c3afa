import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/**
 * A text of SQL is put together of other texts of SQL, and holds no value: neither one that a caller gave, nor a number
 * of ours. What can be checked of that in the source:
 *
 * - A name in capitals may stand in a text, unless what it stands for is a number.
 * - So may a parameter of a function that composes texts, if all calls of that function are made while its module is
 *   loaded: there are no values then.
 * - So may a name that goes through `quoteName`.
 * - Nothing may stand between single quotes.
 *
 * The rest is in the list of exceptions, each with its reason.
 */
const STORES = fileURLToPath(new URL('../../src/store', import.meta.url))

const PARTITION = 'the name of a partition, made of the name of a table of ours and a date'
const NO_PARAMETERS = 'of what makes tables and functions nothing can be a parameter'
const PRINTED = 'printed for people, who have no parameters'

const OF_ONCE = 'the name of a savepoint of ours, with a number'
const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'postgres/apply-functions.ts': {
    '${signature}': NO_PARAMETERS,
    "'${signatureOf(sql).name}'": `${NO_PARAMETERS}, nor in a block of DO`,
    "'${describe(sql)}'": `${NO_PARAMETERS}, nor in a block of DO`,
    "${wanted.join(',\\n                   ')}": 'the list of those',
    '${name}': NO_PARAMETERS,
    '${types}': NO_PARAMETERS,
  },
  'postgres/migrate.ts': { '${version}': PRINTED },
  'sqlite/migrate.ts': { '${version}': PRINTED, "${statements.join('\\n\\n')}": PRINTED },
  'shared/savepoints.ts': {
    '${sqlName}': 'a name with a number, in quotes',
    '${savepoint.sqlName}': 'such a name',
    '${release}': 'a part of a text',
  },
  'shared/own-savepoint.ts': { '${name}': OF_ONCE },
  'postgres/require-transaction.ts': { '${name}': OF_ONCE },
  'sqlite/once.ts': { '${name}': OF_ONCE },
  'postgres/sql/drop-partitions.ts': {
    '${name}': PARTITION,
    '${parent}': 'the name of a table of ours',
    '${keyOf(parent)}': 'the name of a column of ours',
  },
  'postgres/sql/ensure-partitions.ts': {
    '${name}': PARTITION,
    '${parent}': 'the name of a table of ours',
    "'${from}'": NO_PARAMETERS,
    "'${to}'": NO_PARAMETERS,
  },
  'postgres/sql/prune-beside.ts': {
    "'${part}'": 'the name of a table of ours, as which its limit and its count go too',
  },
  'postgres/sql/session-state.ts': {
    "'${name}'": 'the name of a setting, in a function that has to be made of all of them',
    "${own.join(', ')}": 'a list of those',
    "${named.join(',\\n    ')}": 'a list of those',
  },
  'sqlite/temporary-objects.ts': {
    '${type}': '"table", "view" or "trigger", as a drop says it',
    "${name.replaceAll('\"', '\"\"')}": 'a name, quoted',
  },
}

const sources = readSources()
const constants = findConstants(sources)
const callers = findCalls(sources)

describe('a text of SQL', () => {
  test('holds no value, with exceptions that each have a reason', () => {
    const spliced = [...sources].flatMap(([file, source]) =>
      listSpliced(source)
        .filter((what) => EXCEPTIONS[file]?.[what] === undefined)
        .map((what) => `${file}: ${what}`),
    )

    expect(spliced).toEqual([])
  })

  test('is put together in hundreds of places, which are seen', () => {
    const seen = [...sources.values()].flatMap((source) => listParts(source))

    expect(seen.length).toBeGreaterThan(250)
  })

  test('needs each of the exceptions', () => {
    const unneeded = Object.entries(EXCEPTIONS).flatMap(([file, exceptions]) => {
      const spliced = listSpliced(sources.get(file)!)
      return Object.keys(exceptions).filter((what) => !spliced.includes(what))
    })

    expect(unneeded).toEqual([])
  })

  test.each([
    ['a value', 'const f = (id) => run(`select * from t where id = ${id}`)', ['${id}']],
    [
      'our own number',
      'const f = () => run(`set local lock_timeout = ${milliseconds(5)}`)',
      ['${milliseconds(5)}'],
    ],
    [
      'a number in capitals',
      'const A = `select * from t limit ${MOST}`; const MOST = 5',
      ['${MOST}'],
    ],
    [
      'a product in capitals',
      'const A = `\n where b <= ${BYTES}`; const BYTES = 2 * 1024',
      ['${BYTES}'],
    ],
    ['digits in quotes', "const A = `\n where b <= ${BYTES}`; const BYTES = '2048'", ['${BYTES}']],
    ['a constant in quotes', "const A = `select '${WORD}'`; const WORD = 'a b'", ["'${WORD}'"]],
    [
      'a list',
      'const f = (values) => `\n  select f(${values.join()})`; () => f([])',
      ['${values.join()}'],
    ],
    [
      'what a caller gives at run time',
      'const f = (id) => `select ${id}`; function g(id) { f(id) }',
      ['${id}'],
    ],
    ['what is composed at once', "const f = (part) => `select ${part}`; const A = f('a')", []],
    ['a name', 'const f = (name) => `savepoint ${quoteName(name)}`', []],
    [
      'a part of a text',
      "const A = `${SELECT} where id = $1`; const SELECT = 'select a from b'",
      [],
    ],
    ['a message', 'const f = (name) => `Cannot update ${name}`', []],
  ])('would be seen to hold %s', (_, text, expected) => {
    const source = parse('source.ts', text)
    const alone = new Map([['source.ts', source]])

    expect(listSpliced(source, findConstants(alone), findCalls(alone))).toEqual(expected)
  })
})

type Sources = ReadonlyMap<string, ts.SourceFile>
type Named = ReadonlyMap<string, ts.Expression>
type Calls = (name: string, from: ts.SourceFile) => readonly ts.CallExpression[]

function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
}

function readSources(): Sources {
  const files = fs
    .readdirSync(STORES, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => /^(?:postgres|sqlite|shared)\/.*\.ts$/.test(file))
  return new Map(
    files.map((file) => [file, parse(file, fs.readFileSync(path.join(STORES, file), 'utf8'))]),
  )
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => {
    walk(child, visit)
  })
}

/** What stands behind each name in capitals. */
function findConstants(all: Sources): Named {
  const found = new Map<string, ts.Expression>()
  for (const source of all.values())
    walk(source, (node) => {
      if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return
      const name = node.name.getText()
      // Of two files that name a number and a text alike, the number counts.
      if (/^[A-Z][A-Z0-9_]*$/.test(name) && !(found.has(name) && isNumber(found.get(name)!)))
        found.set(name, node.initializer)
    })
  return found
}

/** Where a function is called: in the file that it is in, and in those that import it. */
function findCalls(all: Sources): Calls {
  const found = new Map<string, ts.CallExpression[]>()
  const imported = new Set<string>()
  const add = (name: string, call: ts.CallExpression) =>
    found.set(name, [...(found.get(name) ?? []), call])
  for (const source of all.values())
    walk(source, (node) => {
      if (ts.isImportSpecifier(node)) imported.add(`${source.fileName} ${node.name.text}`)
      if (!ts.isCallExpression(node)) return
      add(node.expression.getText(), node)
      // `LIST.map(compose)` calls it too, where it stands.
      for (const argument of node.arguments) if (ts.isIdentifier(argument)) add(argument.text, node)
    })
  return (name, from) =>
    (found.get(name) ?? []).filter((call) => {
      const { fileName } = call.getSourceFile()
      const isImported = (file: string) => imported.has(`${file} ${name}`)
      return fileName === from.fileName || isImported(fileName) || isImported(from.fileName)
    })
}

/** In texts of SQL: what is put into them, and what stands before and behind it. */
function listParts(source: ts.SourceFile): readonly { span: ts.Expression; isQuoted: boolean }[] {
  const found: { span: ts.Expression; isQuoted: boolean }[] = []
  walk(source, (node) => {
    if (!ts.isTemplateExpression(node) || !isSql(node)) return
    let before = node.head.text
    for (const { expression, literal } of node.templateSpans) {
      const isQuoted = before.endsWith("'") || literal.text.startsWith("'")
      found.push({ span: expression, isQuoted })
      before = literal.text
    }
  })
  return found
}

function listSpliced(
  source: ts.SourceFile,
  named: Named = constants,
  calls: Calls = callers,
): readonly string[] {
  return listParts(source).flatMap(({ span, isQuoted }) => {
    const text = `\${${span.getText()}}`
    if (isQuoted) return [`'${text}'`]
    return isText(span, named, calls) ? [] : [text]
  })
}

const STATEMENT =
  /^\s*(?:select|insert|update|delete|values|with|set|begin|savepoint|release|rollback|listen|create|alter|drop|pragma|do)\s|^\('|^coalesce\(/

/** Messages for people are not: they begin with a capital. */
function isSql(template: ts.TemplateExpression): boolean {
  const texts = [template.head, ...template.templateSpans.map(({ literal }) => literal)]
  const [first = '', ...rest] = texts.map(({ text }) => text)
  if (first.startsWith('\n') || STATEMENT.test(first)) return true
  if ([first, ...rest].some((text) => /\{schema\}|\{prefix\}/.test(text))) return true
  // What a constant or a short function stands for is a part of one: `… limit 1`.
  const { parent } = template
  const isConcise = ts.isArrowFunction(parent) && !isInFunction(parent)
  const isAlone = ts.isVariableDeclaration(parent) && !isInFunction(template)
  return (isConcise || isAlone) && !/^[A-Z]/.test(first)
}

function isText(span: ts.Expression, named: Named, calls: Calls): boolean {
  if (ts.isConditionalExpression(span))
    return [span.whenTrue, span.whenFalse].every((one) => isText(one, named, calls))
  if (ts.isStringLiteral(span) || ts.isNoSubstitutionTemplateLiteral(span)) return true
  const name = /^[A-Za-z_]\w*/.exec(span.getText())?.[0] ?? ''
  if (/^[A-Z][A-Z0-9_]*$/.test(name)) {
    const value = named.get(name)
    return value !== undefined && !isNumber(value)
  }
  if (name === 'quoteName' || name === 'savepointName') return true
  const own = enclosing(span)
  // What another composes is looked at where that stands.
  if (ts.isCallExpression(span) && ts.isIdentifier(span.expression))
    return isComposer(span.expression, calls)
  return (
    own !== undefined &&
    (ts.isIdentifier(span) || ts.isPropertyAccessExpression(span)) &&
    own.parameters.some((parameter) =>
      new RegExp(`\\b${name}\\b`).test(parameter.name.getText()),
    ) &&
    isComposer(nameOf(own), calls)
  )
}

function isNumber(value: ts.Expression): boolean {
  if (ts.isStringLiteral(value)) return /^-?[\d._]+$/.test(value.text)
  return ts.isNumericLiteral(value) || ts.isBinaryExpression(value)
}

/** Whether all calls of it are made while its module is loaded, or by others like it. */
function isComposer(
  name: ts.Node | undefined,
  calls: Calls,
  seen: readonly string[] = [],
): boolean {
  if (name === undefined) return false
  const text = name.getText()
  if (seen.includes(text)) return true
  const found = calls(text, name.getSourceFile())
  return (
    found.length > 0 &&
    found.every((call) => {
      const own = enclosing(call)
      return own === undefined || isComposer(nameOf(own), calls, [...seen, text])
    })
  )
}

/** The function in which it stands. */
function enclosing(node: ts.Node): ts.SignatureDeclaration | undefined {
  return ts.findAncestor(node.parent, ts.isFunctionLike)
}

function isInFunction(node: ts.Node): boolean {
  return enclosing(node) !== undefined
}

/** One without a name goes by that of what is made of it. */
function nameOf(own: ts.SignatureDeclaration): ts.Node | undefined {
  if (own.name !== undefined) return own.name
  return ts.isVariableDeclaration(own.parent) ? own.parent.name : undefined
}
