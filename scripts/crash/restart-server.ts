import { startAgain } from '../../test/support/faults/start-again.ts'
import type { PostgresServer } from '../../test/support/postgres/start-postgres.ts'
import { createBlockingEvent } from './create-event.ts'
import type { CrashRun, Fault } from './crash-run.ts'
import { sendEvents } from './send-events.ts'

/** A server that is stopped or killed and started again, also while handlers block the event loops. */
export function restartServer({ postgres }: CrashRun): readonly Fault[] {
  if (postgres === undefined) return []
  const { server } = postgres
  return [
    {
      name: 'a server stopped at once',
      weight: 0.5,
      inject: () => restart(server, () => server.stop('immediate')),
    },
    {
      name: 'a server killed with all it has',
      weight: 0.5,
      inject: () => restart(server, () => server.killAll()),
    },
    {
      name: 'fast restarts while event loops are blocked',
      weight: 0.7,
      inject: (run) => restartBlocked(run, server),
    },
  ]
}

/** News that wait in the socket of a blocked process arrive together, such as "ready" and "the end" of a connection. */
async function restartBlocked(run: CrashRun, server: PostgresServer): Promise<undefined> {
  const round = run.acknowledged.size
  const events = Array.from({ length: 40 }, (_, n) =>
    createBlockingEvent(`block_${round}_${n}`, n % 8 === 0 ? 300 : 60),
  )
  const sending = sendEvents(run, events)
  for (let i = 0; i < 3; i += 1) await restart(server, () => server.stop('fast'))
  await sending
}

async function restart(server: PostgresServer, end: () => Promise<void>): Promise<undefined> {
  await end()
  await startAgain(server)
}
