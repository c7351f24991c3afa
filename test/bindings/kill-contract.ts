import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { until } from '../support/faults/until.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import type { BoundInbox } from './bound-inbox.ts'
import type { KilledOptions } from './run-until-killed.ts'

/** However long it takes to find a process dead; a test waits for the heart, not for this. */
const DEAD_AFTER_MS = 500

/**
 * A process that is killed while a handler's transaction is committed. `program` runs the same library in a process of
 * its own (`runUntilKilled`).
 */
export function killContract<Tx, Sql>(
  { name, open, insert }: BindingUnderTest<Tx, Sql>,
  { program, library }: { readonly program: URL; readonly library: string },
): void {
  describe(`${name}: the tx of a handler`, () => {
    test.each(['before', 'after'] as const)(
      'has one effect when its process is killed %s COMMIT',
      async (phase) => {
        const bound = await open({ deadAfterMs: DEAD_AFTER_MS })
        const { inbox, deliver, query, notes } = bound
        await deliver('evt_1')
        const options: KilledOptions = {
          library,
          database: databaseOf(bound),
          phase,
          deadAfterMs: DEAD_AFTER_MS,
        }
        const tables = TABLES[options.database.engine]

        const victim = fork(program, [JSON.stringify(options)], {
          execArgv: ['--import', 'tsx'],
          env: { ...process.env, NODE_OPTIONS: '' },
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        })
        expect(await once(victim, 'exit')).toEqual([null, 'SIGKILL'])
        const killed = await notes()
        const isSilent = async () => (await query(tables.young)).length === 0
        await until('its heart has stood still', isSilent)
        inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'by the survivor'))
        await inbox.runDue({ budgetMs: 60_000 })

        expect(await query(tables.queued)).toEqual([])
        expect([killed, await notes()]).toEqual(
          phase === 'before' ? [[], ['by the survivor']] : [['by the victim'], ['by the victim']],
        )
      },
    )
  })
}

function databaseOf({ config, file }: Pick<BoundInbox<never, never>, 'config' | 'file'>) {
  if (config !== undefined) return { engine: 'postgres' as const, config }
  if (file !== undefined) return { engine: 'sqlite' as const, file }
  throw new Error('An inbox is on one of the two')
}

/** What is left to do, and who may live: until its heart has stood still, a worker may. */
const TABLES = {
  postgres: {
    queued: 'select * from hookonce.queue',
    young: `select 1 from hookonce.workers where beat_at > clock_timestamp() - interval '${DEAD_AFTER_MS} milliseconds'`,
  },
  sqlite: {
    queued: 'select * from hookonce_queue',
    young: `select 1 from hookonce_workers where beat_at > unixepoch('subsec') * 1000 - ${DEAD_AFTER_MS}`,
  },
}
