/** A process that sends messages, and neither receives nor runs events. */

import { runSubject } from './subject-program.ts'

runSubject({
  worker: false,
  start: async (inbox) => {
    await inbox.start()
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
