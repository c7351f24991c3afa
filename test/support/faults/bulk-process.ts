/** A process that acts on the events of a bulk, and neither receives nor runs any. */

import { runSubject } from './subject-program.ts'

runSubject({
  worker: false,
  start: async (inbox, { bulk }) => {
    if (bulk === undefined) throw new Error('There is no bulk to run')
    const run = await inbox.admin.bulk.run(bulk.id, { ratePerSecond: bulk.ratePerSecond })
    if (run.status === 'done') void run.ended.then(() => process.exit(0))
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
