import fs from 'node:fs'
import { expect, test } from 'vitest'
import type { Mutant } from '../../scripts/mutants/mutant-runner.ts'

const MUTANTS = JSON.parse(fs.readFileSync('scripts/mutants.json', 'utf8')) as Mutant[]

/** An entry whose text is gone proves nothing any more, and says so only when the list has run for hours. */
test('the text of every mutant is in its file exactly once', () => {
  const stale = MUTANTS.filter(({ file, search }) => countIn(file, search) !== 1)

  expect(MUTANTS.length).toBeGreaterThan(400)
  expect(stale.map(({ name, file }) => `${name} in ${file}`)).toEqual([])
})

test('every mutant names test files that exist', () => {
  const lost = MUTANTS.flatMap(({ name, tests }) =>
    tests.filter((file) => !fs.existsSync(file)).map((file) => `${name}: ${file}`),
  )

  expect(MUTANTS.filter(({ tests }) => tests.length === 0)).toEqual([])
  expect(lost).toEqual([])
})

/** A result is kept under the name of its entry. */
test('no two mutants have the same name', () => {
  const names = MUTANTS.map(({ name }) => name)

  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

function countIn(file: string, text: string): number {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split(text).length - 1 : 0
}
