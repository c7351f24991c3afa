/**
 * How often a transaction that is lent to handlers waits for the server. The machine's speed does not matter here:
 * a round trip is counted where the driver hears that the server is ready for the next.
 */

import assert from 'node:assert/strict'
import type { PoolClient } from 'pg'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { OpenedPostgres } from '../../support/postgres/open-postgres.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import { claim, dead, done, recordOne, runOne } from '../../support/store-steps.ts'

const DEADLINE = { deadlineMs: 20_000 }
const WRITE = 'insert into effects values ($1)'

describe.skipIf(hasNoPostgres)('round trips to PostgreSQL', () => {
  test.each(['ready', 'dead'])(
    'a batch of new events and of duplicates of one that is %s takes one',
    async (state) => {
      const { store, count } = await prepare()
      const [first] = await store.events.record([anEventDraft({ key: 'known' })], DEADLINE)
      if (state === 'dead') await runOne(store, dead)
      const redelivered = anEventDraft({ key: 'known', redelivery: 'count' })
      count.reset()

      const answers = await store.events.record(
        [redelivered, anEventDraft({ key: 'new' }), redelivered],
        DEADLINE,
      )

      const duplicate = { status: 'duplicate', eventId: first!.eventId }
      expect(answers).toEqual([
        duplicate,
        expect.objectContaining({ status: 'accepted' }),
        duplicate,
      ])
      expect(count.value).toBe(1)
    },
  )

  test('what is not a plain duplicate is looked at again, and each gets the answer it would get alone', async () => {
    const { store } = await prepare()
    const keys = ['dead', 'other content', 'plain']
    const recorded = await store.events.record(
      keys.map((key) => anEventDraft({ key })),
      DEADLINE,
    )
    await runOne(store, dead)

    const answers = await store.events.record(
      [
        anEventDraft({ key: 'other content', body: 'another' }),
        anEventDraft({ key: 'plain' }),
        anEventDraft({ key: 'dead', redelivery: 'retry' }),
        anEventDraft({ key: 'new' }),
      ],
      DEADLINE,
    )

    expect(answers.map(({ status }) => status)).toEqual([
      'conflict',
      'duplicate',
      'revived',
      'accepted',
    ])
    expect(answers[1]!.eventId).toBe(recorded[2]!.eventId)
    expect(answers[2]!.eventId).toBe(recorded[0]!.eventId)
  })

  test('a group of one event takes its claim, its guard, the handler, its outcome and COMMIT', async () => {
    const opened = await prepare()
    const runWith = async (key: string): Promise<void> => {
      await recordOne(opened.store, anEventDraft({ key }))
      opened.count.reset()
      const group = await claim(opened.store, { limit: 1 })
      await group.lend().tx.query(WRITE, [key])
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    }
    // The first on a connection also reads its settings.
    await runWith('first')

    await runWith('second')

    expect(opened.count.value).toBe(5)
  })

  test('a group of ten adds its savepoint and a look between the events and their outcome', async () => {
    const opened = await prepare()
    const runTen = async (name: string): Promise<void> => {
      const drafts = Array.from({ length: 10 }, (_, n) => anEventDraft({ key: `${name} ${n}` }))
      await opened.store.events.record(drafts, DEADLINE)
      opened.count.reset()
      const group = await claim(opened.store, { limit: 10 })
      expect(group.events).toHaveLength(10)
      await group.setSavepoint('group')
      for (const { key } of group.events) group.lend().tx.write(WRITE, [key])
      await group.flush()
      expect(await group.findTraces()).toBeUndefined()
      await group.dropSavepoint('group')
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    }
    await runTen('first')

    await runTen('second')

    expect(opened.count.value).toBe(8)
  })

  test('the transaction of a step takes its opening, the handler and COMMIT', async () => {
    const opened = await prepare()
    const { store } = opened
    await recordOne(store, anEventDraft())
    const { lease } = await leaseOne(store)
    const runStep = async (position: number): Promise<void> => {
      opened.count.reset()
      const step = { lease, handler: 'h', kind: 'tx', position, name: 'write' } as const
      const limits = { idleTimeoutMs: 60_000, lockTimeoutMs: 0 }
      const transaction = await store.steps.open([step], limits)
      assert(transaction)
      await transaction.lend().tx.query(WRITE, ['step'])
      expect(await transaction.commit([{ text: '1' }])).toEqual({ status: 'committed' })
    }
    await runStep(1)

    await runStep(2)

    expect(opened.count.value).toBe(3)
  })
})

interface Prepared {
  readonly store: Store<QueryTx>
  readonly count: RoundTrips
}

async function prepare(): Promise<Prepared> {
  const opened = await openPostgres()
  await opened.query('create table effects (event_key text)')
  return { store: opened.store as unknown as Store<QueryTx>, count: new RoundTrips(opened) }
}

/** Of every connection of the store's pool, those that it has already among them. */
class RoundTrips {
  readonly #clients = new WeakSet<PoolClient>()
  value = 0

  constructor({ pool }: OpenedPostgres) {
    for (const client of pool.given) this.#listen(client)
    pool.on('acquire', (client) => this.#listen(client))
  }

  reset(): void {
    this.value = 0
  }

  #listen(client: PoolClient): void {
    if (this.#clients.has(client)) return
    this.#clients.add(client)
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
    connection.on('readyForQuery', () => (this.value += 1))
  }
}
