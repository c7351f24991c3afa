import type { StoreConfig, SubjectConfig } from '../../test/support/faults/subject-messages.ts'
import { DEAD_AFTER_MS } from './crash-run.ts'

/** Every failure is tried again until it works, so that in the end every event can be done. */
const AGAIN = { retry: { firstMs: 10, factor: 1, attemptsMax: 1_000 } }
const SHORT_MS = 400
const LONG_MS = 10_000

/** How the processes of a crash run are set up. Each kind of handler is one of its own, so that none has to wait for another. */
export function createFleetConfig(store: StoreConfig): SubjectConfig {
  const on = (source: 'partner' | 'rival', types: string, timeoutMs: number) => ({
    source,
    types,
    options: { ...AGAIN, timeoutMs },
  })
  return {
    store,
    receive: { answerTimeoutMs: 5_000 },
    worker: {
      concurrency: 3,
      deadAfterMs: DEAD_AFTER_MS,
      crashesMax: 100,
      pollMs: 100,
      stopGraceMs: 500,
    },
    handlers: [
      on('partner', 'thing.*', SHORT_MS),
      on('partner', 'flood.*', LONG_MS),
      on('partner', 'slow.*', LONG_MS),
      on('partner', 'hang.*', SHORT_MS),
      on('partner', 'block.*', LONG_MS),
      on('rival', '*', LONG_MS),
    ],
    // Its steps write, and call no other service.
    steps: { sink: 'http://127.0.0.1:9/', types: 'step.*', options: AGAIN },
    isQuiet: true,
  }
}
