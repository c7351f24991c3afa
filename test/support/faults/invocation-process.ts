/** A process that lives for one call, as a function of a cloud does, and has started when it is through. */

import { runSubject } from './subject-program.ts'

runSubject({
  worker: true,
  start: async (inbox) => {
    const run = await inbox.runDue({ budgetMs: 60_000, graceMs: 1_000 })
    if (run.hasMore) throw new Error('A minute was too little')
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
