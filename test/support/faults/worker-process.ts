/** A process that runs events and receives none. */

import { runSubject } from './subject-program.ts'

runSubject({
  worker: true,
  start: async (inbox) => {
    await inbox.start()
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
