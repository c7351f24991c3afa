import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { applyChanges } from '../../bench/ablation/apply-changes.ts'

function createTree(text: string): string {
  const root = mkdtempSync(join(tmpdir(), 'hookonce-changes-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'part.ts'), text)
  return root
}

test('a part is taken away by changing its text', () => {
  const root = createTree('const isOn = true\n')
  const change = { file: 'part.ts', search: 'isOn = true', replace: 'isOn = $& false' }
  expect(applyChanges(root, [change])).toBeUndefined()
  expect(readFileSync(join(root, 'part.ts'), 'utf8')).toBe('const isOn = $& false\n')
})

test.each([
  { times: 0, text: 'const isOff = false\n' },
  { times: 2, text: 'isOn = true\nisOn = true\n' },
])('a text that is found $times times is not changed, and said', ({ times, text }) => {
  const root = createTree(text)
  const change = { file: 'part.ts', search: 'isOn = true', replace: 'isOn = false' }
  expect(applyChanges(root, [change])).toBe(`its text is ${times} times in part.ts`)
  expect(readFileSync(join(root, 'part.ts'), 'utf8')).toBe(text)
})
