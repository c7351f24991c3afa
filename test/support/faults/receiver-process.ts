/** A process that receives and runs nothing: `hookonce/node`'s receiver on a free port. */

import { createReceiver } from '../../../src/http/node.ts'
import type { Receiver } from '../../../src/http/node.ts'
import { runSubject } from './subject-program.ts'

let receiver: Receiver | undefined

runSubject({
  worker: false,
  start: async (inbox) => {
    await inbox.start()
    receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    return port
  },
  stop: async (inbox, { graceMs = 10_000 }) => {
    await receiver?.drain({ graceMs })
    await inbox.stop()
  },
})
