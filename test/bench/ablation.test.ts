import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { applyChanges } from '../../bench/ablation/apply-changes.ts'
import { PARTS } from '../../bench/ablation/parts.ts'

const FILE = 'src/part.ts'

test('a part is taken away by all its changes together, as they are written', () => {
  const changes = [
    { file: FILE, search: 'isOn = true', replace: 'isOn = $& false' },
    { file: FILE, search: 'size = 50', replace: 'size = 1' },
  ]
  const changed = applyChanges(changes, () => 'const isOn = true\nconst size = 50\n')
  const text = 'const isOn = $& false\nconst size = 1\n'
  expect(changed).toEqual({ texts: new Map([[FILE, text]]) })
})

test.each([
  { times: 0, text: 'const isOff = false\n' },
  { times: 2, text: 'isOn = true\nisOn = true\n' },
])('a text that is found $times times in its file is stale, and not changed', ({ times, text }) => {
  const change = { file: FILE, search: 'isOn = true', replace: 'isOn = false' }
  expect(applyChanges([change], () => text)).toEqual({
    stale: `its text is ${times} times in ${FILE}`,
  })
})

test('a change to a file that is gone is stale', () => {
  const change = { file: FILE, search: 'isOn = true', replace: 'isOn = false' }
  expect(applyChanges([change], () => undefined)).toEqual({ stale: `there is no ${FILE}` })
})

test.each(PARTS)('$name can be taken away from the source as it is', ({ changes }) => {
  expect(applyChanges(changes, (file) => readFileSync(file, 'utf8'))).toHaveProperty('texts')
})
