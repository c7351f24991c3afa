import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** With no more files than these, a folder is read sooner than a page about it. */
const FEW = 5

test('a folder of src with more than a few files begins with a README', () => {
  const large = fs
    .readdirSync(SRC, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && countSources(entry.name) > FEW)
    .map(({ name }) => name)
  const without = large.filter((name) => !fs.existsSync(path.join(SRC, name, 'README.md')))

  expect(large.length).toBeGreaterThan(15)
  expect(without).toEqual([])
})

function countSources(folder: string): number {
  return fs
    .readdirSync(path.join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts')).length
}
