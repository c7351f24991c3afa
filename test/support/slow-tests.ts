import { test } from 'vitest'

/** Whether this is `npm run test:all`. */
export const RUNS_ALL = process.env['HOOKONCE_TESTS'] === 'all'

/** A test that takes more than about ten seconds, most of which it waits. `npm run test:all` runs it, `npm test` does not. */
export const slowTest = test.runIf(RUNS_ALL)
