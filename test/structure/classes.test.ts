import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * A class is not split over files by inheritance: who reads it would have to know both. A base of ours in another file
 * is one that is also used by itself, or an error.
 */
const SRC = fileURLToPath(new URL('../../src', import.meta.url))

type Texts = ReadonlyMap<string, string>

describe('no class is split over files', () => {
  test('in src', () => {
    expect(listSplit(readSources())).toEqual([])
  })

  test.each([
    [
      'a base of its own',
      'class A extends B {}',
      'export abstract class B {}',
      ['a.ts: A extends B'],
    ],
    ['one with types', 'class A<T> extends B<T> {}', 'export class B<T> {}', ['a.ts: A extends B']],
    ['a base that is used by itself', 'class A extends B {}; new B()', 'export class B {}', []],
    ['an error', 'class A extends BaseError {}', 'export class BaseError extends Error {}', []],
    ['a class of Node', 'class A extends EventEmitter {}', '', []],
    ['a base in the same file', 'abstract class B {}; class A extends B {}', '', []],
  ])('the search for them knows %s', (_, one, other, expected) => {
    const texts = new Map([
      ['a.ts', one],
      ['b.ts', other],
    ])

    expect(listSplit(texts)).toEqual(expected)
  })
})

function readSources(): Texts {
  const files = fs
    .readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
  return new Map(files.map((file) => [file, fs.readFileSync(path.join(SRC, file), 'utf8')]))
}

function listSplit(texts: Texts): readonly string[] {
  const all = [...texts.values()].join('\n')
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/\bclass (\w+)(?:<[^{]*>)?\s+extends (\w+)/g)].flatMap(
      ([, name = '', base = '']) => {
        const declared = new RegExp(`\\bclass ${base}\\b`)
        const isElsewhere = declared.test(all) && !declared.test(text)
        const isWhole = base.endsWith('Error') || new RegExp(`\\bnew ${base}\\b`).test(all)
        return isElsewhere && !isWhole ? [`${file}: ${name} extends ${base}`] : []
      },
    ),
  )
}
