import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ProviderCase } from './every-provider.ts'

/** The case of a provider, or `undefined` when it has none. */
export async function findCase(slug: string): Promise<ProviderCase | undefined> {
  const name = slug.replaceAll('_', '-')
  const file = fileURLToPath(new URL(`cases/${name}.ts`, import.meta.url))
  if (!existsSync(file)) return undefined
  const { CASE } = (await import(`./cases/${name}.ts`)) as { CASE: ProviderCase }
  return CASE
}
