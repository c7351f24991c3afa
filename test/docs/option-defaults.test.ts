import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { ROOT } from './markdown.ts'

const files = fs
  .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => path.basename(file) === 'options.ts')
  .map((file) => path.posix.join('src', file.split(path.sep).join('/')))

describe('every documented default', () => {
  test('is looked for where options are', () => {
    expect(files).toContain('src/receive/options.ts')
  })

  test.each(files)('in %s is the one that is used', async (file) => {
    const text = fs.readFileSync(path.join(ROOT, file), 'utf8')
    const module = (await import(path.join(ROOT, file))) as Record<string, unknown>

    expect(compareDefaults(text, module)).toEqual([])
  })
})

describe('the comparison of defaults', () => {
  const documented = (value: string) =>
    `export interface WorkOptions {\n  /**\n   * Text.\n   * @defaultValue ${value}\n   */\n  readonly many?: number\n}`

  test.each([
    ['finds nothing when they agree', documented('1_000'), { WORK_DEFAULTS: { many: 1000 } }, 0],
    ['finds a wrong number', documented('10'), { WORK_DEFAULTS: { many: 12 } }, 1],
    [
      'finds a default that only the table has',
      documented('10'),
      { WORK_DEFAULTS: { many: 10, few: 1 } },
      1,
    ],
    ['finds a default that only the text has', documented('10'), { WORK_DEFAULTS: {} }, 1],
    ['finds a text without any table', documented('10'), {}, 1],
  ])('%s', (_name, text, module, count) => {
    expect(compareDefaults(text, module)).toHaveLength(count)
  })
})

/** How the `@defaultValue` texts of a file differ from its `…_DEFAULTS` tables. */
function compareDefaults(
  text: string,
  module: Readonly<Record<string, unknown>>,
): readonly string[] {
  const tables = Object.entries(module).filter(([name]) => name.endsWith('_DEFAULTS')) as [
    string,
    object,
  ][]
  const problems: string[] = []
  const explained = new Set<string>()
  for (const { owner, option, value } of listDocumented(text)) {
    const [name, table] =
      tables.length === 1 ? tables[0]! : (tables.find(([key]) => key === tableName(owner)) ?? [])
    const used = table === undefined ? undefined : (table as Record<string, unknown>)[option]
    const said: unknown = vm.runInNewContext(`(${value})`)
    explained.add(`${name ?? ''}.${option}`)
    if (name === undefined)
      problems.push(`${owner}.${option} is documented, but there is no table of defaults`)
    else if (JSON.stringify(said) !== JSON.stringify(used)) {
      problems.push(`${owner}.${option} is documented as ${value}, and is ${JSON.stringify(used)}`)
    }
  }
  for (const [name, table] of tables) {
    const silent = Object.keys(table).filter((option) => !explained.has(`${name}.${option}`))
    problems.push(...silent.map((option) => `${name}.${option} has no @defaultValue`))
  }
  return problems
}

/** `WorkerOptions` has its defaults in `WORKER_DEFAULTS`. */
function tableName(owner: string): string {
  const words = owner.replace(/Options$/, '').replace(/([a-z])([A-Z])/g, '$1_$2')
  return `${words.toUpperCase()}_DEFAULTS`
}

function listDocumented(text: string): readonly { owner: string; option: string; value: string }[] {
  const file = ts.createSourceFile('options.ts', text, ts.ScriptTarget.Latest, true)
  return file.statements.filter(ts.isInterfaceDeclaration).flatMap((declaration) =>
    declaration.members.flatMap((member) => {
      const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'defaultValue')
      if (tag === undefined || member.name === undefined) return []
      const value = (ts.getTextOfJSDocComment(tag.comment) ?? '').trim().replaceAll('`', '')
      return [{ owner: declaration.name.text, option: member.name.getText(file), value }]
    }),
  )
}
