/** A process that replays events whose effect is missing, and neither receives nor runs any. */

import { runSubject } from './subject-program.ts'

runSubject({
  worker: false,
  start: async (inbox) => {
    const reconciled = inbox.reconcile({
      since: new Date(0),
      exists: async (event, tx) => {
        const found = await tx.query('select 1 as one from effects where event_key = $1', [
          event.key,
        ])
        return (found as { readonly rows: readonly unknown[] }).rows.length > 0
      },
      rerun: { reason: 'the rows were lost' },
    })
    void reconciled.then(() => process.exit(0))
    return undefined
  },
  stop: (inbox) => inbox.stop(),
})
