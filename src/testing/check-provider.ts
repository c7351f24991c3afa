/**
 * What every provider must keep, from its declaration, its fixture and a few words of its case: ours, and
 * one of your own.
 *
 * @module
 */

import type { EventMap } from '../model/source.ts'
import type { Provider } from '../providers/index.ts'
import { listEventChecks } from './check-events.ts'
import { listSignatureChecks } from './check-signatures.ts'
import { makeSubject } from './check-subject.ts'
import type { ProviderCheck } from './check-subject.ts'
import { fuzzProvider } from './fuzz-provider.ts'
import type { ProviderCase } from './provider-case.ts'

/** Something that a provider should keep and does not. */
export interface Finding {
  /** What was checked. */
  readonly check: string
  readonly problem: string
}

/** Requests of each provider that its sender did not sign. Enough for every kind of damage, in milliseconds. */
const FUZZED_REQUESTS = 500

/**
 * Holds a provider to what every provider must keep. Works in any test runner, and without one:
 *
 *     expect(await checkProvider(acme, { fixture: acmeFixture })).toEqual([])
 *
 * @returns what it does not keep; nothing when all is well
 */
export async function checkProvider(
  // Its options are its own; the checks make them up by their names.
  provider: Provider<never, EventMap>,
  one: ProviderCase,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const { name, run } of listProviderChecks(provider, one)) {
    for (const problem of await problemsOf(run)) findings.push({ check: name, problem })
  }
  return findings
}

/** The same checks one by one, for a test runner that shows each by its name. */
export function listProviderChecks(
  provider: Provider<never, EventMap>,
  one: ProviderCase,
): readonly ProviderCheck[] {
  const subject = makeSubject(provider as Provider<object>, one)
  const checks: readonly ProviderCheck[] = [
    ...listSignatureChecks(subject),
    {
      name: 'judges damaged and made-up requests without a throw, and believes none',
      run: async () => {
        const { problems } = await fuzzProvider(provider, one, {
          requests: FUZZED_REQUESTS,
          seed: 1,
        })
        return problems
      },
    },
    ...listEventChecks(subject),
  ]
  return checks.map(({ name, run }) => ({ name, run: () => problemsOf(run) }))
}

/** A provider that throws is one more that does not keep it. */
async function problemsOf(run: ProviderCheck['run']): Promise<readonly string[]> {
  try {
    return await run()
  } catch (error) {
    return [`it threw ${String(error)}`]
  }
}
