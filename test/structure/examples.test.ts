import fs from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../docs/markdown.ts'

const EXAMPLES = path.join(ROOT, 'examples')

interface Manifest {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Needed, and imported by other packages or by generated code. */
const NOT_IMPORTED: Readonly<Record<string, readonly string[]>> = {
  'nestjs-typeorm': ['@nestjs/platform-express', 'rxjs'],
  'nextjs-prisma': ['@prisma/client', 'react', 'react-dom'],
}

const read = (file: string) =>
  JSON.parse(fs.readFileSync(path.join(ROOT, file), 'utf8')) as Manifest

const folders = fs
  .readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

describe.each(folders)('the example %s, copied out of here,', (name) => {
  const { scripts, dependencies, devDependencies } = read(`examples/${name}/package.json`)
  const files = listFiles(name)
  const commands = Object.values(scripts).flatMap((script) => script.split(/[ &]+/))

  test('installs what it imports, and nothing that it does not need', () => {
    const imported = files.flatMap(listPackages)
    const needed = [...imported, ...(NOT_IMPORTED[name] ?? []), ...commands]

    const installed = Object.keys({ ...dependencies, ...devDependencies })
    expect(imported.filter((one) => !installed.includes(one))).toEqual([])
    const isForCompiler = (one: string) => one === 'typescript' || one.startsWith('@types/')
    expect(installed.filter((one) => !isForCompiler(one) && !needed.includes(one))).toEqual([])
  })

  test('installs the versions that the tests have', () => {
    const tested = {
      ...read('test/bundlers/package.json').devDependencies,
      ...read('test/orms/package.json').devDependencies,
      ...read('package.json').devDependencies,
      hookonce: read('package.json').version,
    } as Record<string, string>

    for (const [one, range] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(`${one} ^${tested[one]}.`).toContain(`${one} ${range}.`)
  })

  test('has a configuration of its own', () => {
    const file = path.join(EXAMPLES, name, 'tsconfig.json')
    if (fs.existsSync(file)) expect(fs.readFileSync(file, 'utf8')).not.toContain('"extends"')
  })

  test('opens its file of SQLite with one SQLite alone', () => {
    const texts = files.map((file) => fs.readFileSync(file, 'utf8'))
    const own = texts.filter((text) => text.includes("from 'libsql'"))
    for (const text of own) expect(text).toMatch(/sqliteStore\(file, \{ driver: 'libsql' \}\)/)
  })
})

/** Without the tests, which stay here. */
function listFiles(name: string): readonly string[] {
  return fs
    .readdirSync(path.join(EXAMPLES, name), { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => /\.tsx?$/.test(file) && !/\.test\.ts$|^(node_modules|generated|\.next)/.test(file),
    )
    .map((file) => path.join(EXAMPLES, name, file))
}

function listPackages(file: string): readonly string[] {
  const text = fs.readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:from |^import |import\()'([^.'][^']*)'/gm)]
    .map(([, specifier = '']) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '')
    .filter((one) => !one.startsWith('node:') && !builtinModules.includes(one))
}
