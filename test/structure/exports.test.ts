import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * What is exported is there for another file: of src, of a test, of a script. What is not may be unused, and no tool would say
 * so. Types are left out: one that a function is called with is exported beside it, whether or not a caller names it.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const USERS = ['src', 'test', 'scripts', 'bench', 'examples']

type Texts = ReadonlyMap<string, string>

describe('every value that is exported', () => {
  test('is used in another file', () => {
    const texts = readTexts()

    expect(texts.size).toBeGreaterThan(1_500)
    expect(listUnused(texts)).toEqual([])
  })

  test.each([
    ['a function', 'export function f() {}', 'g()', ['src/a.ts: f']],
    ['an asynchronous one', 'export async function f() {}', '', ['src/a.ts: f']],
    ['a constant', 'export const A = 1', 'const AB = 2', ['src/a.ts: A']],
    ['a class', 'export abstract class C<T> {}', '', ['src/a.ts: C']],
    ['one that is imported', 'export const A = 1', "import { A } from './a.ts'", []],
    ['one that is exported again', 'export const A = 1', "export { A } from './a.ts'", []],
    [
      'one that only a comment names',
      'export const A = 1',
      '/** As `A`. */\n// and A',
      ['src/a.ts: A'],
    ],
    ['a type', 'export interface A {}\nexport type B = 1', '', []],
  ])('is looked for: %s', (_, exporting, other, expected) => {
    const texts = new Map([
      ['src/a.ts', exporting],
      ['test/b.ts', other],
    ])

    expect(listUnused(texts)).toEqual(expected)
  })
})

function listUnused(texts: Texts): readonly string[] {
  const users = new Map<string, Set<string>>()
  for (const [file, text] of texts)
    for (const word of withoutComments(text).match(/[\w$]+/g) ?? [])
      users.set(word, (users.get(word) ?? new Set()).add(file))
  return [...texts]
    .filter(([file]) => file.startsWith('src/'))
    .flatMap(([file, text]) =>
      Array.from(text.matchAll(EXPORTED), ([, name = '']) => name)
        .filter((name) => users.get(name)?.size === 1)
        .map((name) => `${file}: ${name}`),
    )
    .filter((one) => !DEFAULTS.test(one))
}

const EXPORTED = /^export (?:async )?(?:abstract )?(?:const|let|function\*?|class|enum) ([\w$]+)/gm
/** Compared with what is documented, by `test/docs/option-defaults.test.ts`, which goes by the name. */
const DEFAULTS = /\/options\.ts: \w+_DEFAULTS$/

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*\*[^]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
}

function readTexts(): Texts {
  const files = USERS.flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.[cm]?tsx?$/.test(file) && !file.includes('node_modules'))
      .map((file) => path.posix.join(folder, file.split(path.sep).join('/'))),
  )
  return new Map(files.map((file) => [file, fs.readFileSync(path.join(ROOT, file), 'utf8')]))
}
