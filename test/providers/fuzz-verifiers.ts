import { fuzzProvider } from '../../src/testing/fuzz-provider.ts'
import type { FuzzOptions } from '../../src/testing/fuzz-provider.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

export interface FuzzReport {
  readonly requests: number
  readonly believed: number
  readonly problems: readonly string[]
}

/** At least so many requests, the same number for every provider. */
export async function fuzzVerifiers({ requests, seed }: FuzzOptions): Promise<FuzzReport> {
  const each = Math.ceil(requests / PROVIDERS.size)
  const report = { requests: 0, believed: 0, problems: [] as string[] }
  for (const [slug, provider] of PROVIDERS) {
    const one = await findCase(slug)
    if (one === undefined) throw new Error(`${slug} has no case`)
    const { believed, problems } = await fuzzProvider(provider, one, { requests: each, seed })
    report.requests += each
    report.believed += believed
    report.problems.push(...problems.map((problem) => `${slug}: ${problem}`))
  }
  return report
}
