import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeAblation } from '../../bench/ablation/describe-ablation.ts'
import { nameResult, readResults, renderReadme } from '../../bench/harness/report.ts'
import type { StoredResult } from '../../bench/harness/report.ts'

const RESULTS = 'bench/results'

test('the page of results says what the latest results say', () => {
  expect(readFileSync(`${RESULTS}/README.md`, 'utf8')).toBe(renderReadme(readResults(RESULTS)))
})

test('each result is in the file that its day and workload name', () => {
  for (const stored of readResults(RESULTS))
    expect(readFileSync(`${RESULTS}/${nameResult(stored)}`, 'utf8')).toContain(stored.at)
})

test('of two parts that were taken away on one day, both results stay', () => {
  const one = storedOf('one')
  const other = storedOf('other')

  expect(nameResult(one)).not.toBe(nameResult(other))
  const page = renderReadme([one, other])
  expect(page).toContain('## ablation-one: one; without it, it is slow\n')
  expect(page).toContain('## ablation-other: other; without it, it is slow\n')
})

function storedOf(name: string): StoredResult {
  const measured = { contestants: [], ratios: [], checks: [] }
  return {
    command: `npm run ablate -- ${name}`,
    at: '2026-11-16T12:00:00.000Z',
    rounds: 1,
    note: undefined,
    machine: {
      cpu: 'a processor',
      cores: 2,
      memoryGb: 1,
      system: 'a system',
      versions: {},
      postgresSettings: {},
    },
    result: describeAblation({ name, without: 'it is slow' }, measured),
  }
}
