/** A process that prunes once, and has started when it is through. */

import { RETENTION_DEFAULTS } from '../../../src/retention/options.ts'
import { prune } from '../../../src/retention/prune.ts'
import { runSubject } from './subject-program.ts'

runSubject({
  worker: false,
  start: async (_inbox, { retention = RETENTION_DEFAULTS }, store) => {
    await store.open()
    const result = await prune({ store, policy: retention }, { force: true })
    if (result.status !== 'done') throw new Error(result.code)
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
