import { expect, test } from 'vitest'
import { fuzzVerifiers } from './fuzz-verifiers.ts'

/** `npm run fuzz:verifiers` makes a million, with a seed of your own. */
const REQUESTS = 20_000

test(`${REQUESTS} fuzzed requests make no verifier throw or believe one`, async () => {
  const { requests, believed, problems } = await fuzzVerifiers({ requests: REQUESTS, seed: 76 })

  expect(problems).toEqual([])
  expect(requests).toBeGreaterThanOrEqual(REQUESTS)
  // The mix is worth something only while some are damaged where it does not matter.
  expect(believed).toBeGreaterThan(REQUESTS / 100)
})
