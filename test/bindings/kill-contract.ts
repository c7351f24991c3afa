import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { until } from '../support/faults/until.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import type { KilledOptions } from './run-until-killed.ts'

/** However long it takes to find a process dead; a test waits for the heart, not for this. */
const DEAD_AFTER_MS = 500

/**
 * A process that is killed while a handler's transaction is committed, on PostgreSQL. `program` runs the same library in
 * a process of its own (`runUntilKilled`).
 */
export function killContract<Tx, Sql>(
  { name, open, insert }: BindingUnderTest<Tx, Sql>,
  { program, library }: { readonly program: URL; readonly library: string },
): void {
  describe(`${name}: the tx of a handler`, () => {
    test.each(['before', 'after'] as const)(
      'has one effect when its process is killed %s COMMIT',
      async (phase) => {
        const { inbox, config, deliver, query, notes } = await open({
          deadAfterMs: DEAD_AFTER_MS,
        })
        await deliver('evt_1')
        if (config === undefined) throw new Error('This is for PostgreSQL')
        const options: KilledOptions = { library, config, phase, deadAfterMs: DEAD_AFTER_MS }

        const victim = fork(program, [JSON.stringify(options)], {
          execArgv: ['--import', 'tsx'],
          env: { ...process.env, NODE_OPTIONS: '' },
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        })
        expect(await once(victim, 'exit')).toEqual([null, 'SIGKILL'])
        const killed = await notes()
        await untilSilent(query)
        inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'by the survivor'))
        await inbox.runDue({ budgetMs: 60_000 })

        const [queued] = await query('select count(*)::int as n from hookonce.queue')
        expect(queued).toEqual({ n: 0 })
        expect([killed, await notes()]).toEqual(
          phase === 'before' ? [[], ['by the survivor']] : [['by the victim'], ['by the victim']],
        )
      },
    )
  })
}

/** Before that a worker may live. */
async function untilSilent(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const young = `select 1 from hookonce.workers where beat_at > clock_timestamp() - interval '${DEAD_AFTER_MS} milliseconds'`
  await until('its heart has stood still', async () => (await query(young)).length === 0)
}
