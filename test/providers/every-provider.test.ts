import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { generateIndexes } from '../../scripts/generate-provider-indexes.ts'
import { readFileSync } from 'node:fs'
import { everyProvider } from './every-provider.ts'
import type { ProviderCase } from './every-provider.ts'
import { PROVIDERS } from './vector.ts'

const caseFile = (slug: string) =>
  fileURLToPath(new URL(`cases/${slug.replaceAll('_', '-')}.ts`, import.meta.url))

test('every provider has a case', () => {
  expect([...PROVIDERS.keys()].filter((slug) => !existsSync(caseFile(slug)))).toEqual([])
})

test('the lists of providers and fixtures are up to date', () => {
  for (const { file, text } of generateIndexes()) {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text)
  }
})

for (const [slug, provider] of PROVIDERS) {
  if (!existsSync(caseFile(slug))) continue
  const { CASE } = (await import(caseFile(slug))) as { CASE: ProviderCase }
  everyProvider(slug, provider, CASE)
}
