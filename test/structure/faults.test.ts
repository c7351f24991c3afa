import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = path.join(ROOT, 'docs/contributing/faults.md')
/** How far the catalogue goes that the project began with. What is beyond is ours to list. */
const PLANNED: Readonly<Record<string, number>> = {
  C: 22,
  D: 17,
  E: 19,
  H: 22,
  O: 7,
  P: 9,
  R: 49,
  S: 8,
  X: 19,
  Y: 9,
}
/** At the beginning of a title: `R04: …`, `R04, R05: …` or `R04 and R05: …`. */
const TITLE = /['"`]((?:[A-Z]\d{2}(?:, | and )?)+): /g
const ROW = /^\| ([A-Z]\d{2}) +\|.*\]\(\.\.\/\.\.\/(test\/[^)]+)\)/gm

const listed = [...readFileSync(PAGE, 'utf8').matchAll(ROW)].map(([, id = '', file = '']) => ({
  id,
  file,
}))

function listTests(): readonly string[] {
  return readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|mjs)$/.test(name) && !name.includes('node_modules'))
    .map((name) => path.join('test', name))
}

function idsIn(file: string): readonly string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  return [...text.matchAll(TITLE)].flatMap(([, ids = '']) => ids.split(/, | and /).filter(Boolean))
}

function isOurs(id: string): boolean {
  return Number(id.slice(1)) > (PLANNED[id.charAt(0)] ?? 0)
}

describe('the list of faults', () => {
  test('has every id that a test is named by and that the catalogue has not', () => {
    const used = listTests()
      .filter((file) => !file.endsWith('structure/faults.test.ts'))
      .flatMap(idsIn)
    const known = new Set(listed.map(({ id }) => id))

    expect(used.length).toBeGreaterThan(100)
    expect([...new Set(used)].filter((id) => isOurs(id) && !known.has(id))).toEqual([])
  })

  test.each(listed)('$id has a test in $file', ({ id, file }) => {
    expect(idsIn(file)).toContain(id)
  })

  test('has each of them once', () => {
    const ids = listed.map(({ id }) => id)

    expect(ids.filter((id) => !isOurs(id))).toEqual([])
    expect(ids).toEqual([...new Set(ids)])
  })
})
