import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { generateIndexes } from '../../scripts/generate-provider-indexes.ts'
import { listProviderChecks } from '../../src/testing/index.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

test('the lists of providers and fixtures are up to date', () => {
  for (const { file, text } of generateIndexes()) {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text)
  }
})

for (const [slug, provider] of PROVIDERS) {
  const one = await findCase(slug)
  test(`${slug} has a case`, () => {
    expect(one).toBeDefined()
  })
  if (one === undefined) continue
  describe(slug, () => {
    for (const { name, run } of listProviderChecks(provider, one)) {
      test(name, async () => {
        expect(await run()).toEqual([])
      })
    }
  })
}
