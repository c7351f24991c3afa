/**
 * Inboxes on a fresh database with a source whose events have lanes, for the length of the running test.
 *
 * What handlers applied is kept in a table, a line for each lane: the keys in the order of their commits.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import type { InboxOptions } from '../../src/inbox/options.ts'
import type { WebhookEvent } from '../../src/model/event.ts'
import type { EventRecord } from '../../src/model/outcome.ts'
import type { Source } from '../../src/model/source.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { sign } from '../../src/testing/index.ts'
import { TestClock } from '../../src/testing/kit/test-clock.ts'
import type { TestDatabase } from '../../src/testing/kit/test-database.ts'
import type { HandlerDefaultOptions } from '../../src/work/handler-defaults.ts'
import { SECRET } from './inbox-under-test.ts'
import { openStore } from './store-under-test.ts'
import type { OnEnd, OpenedStore, QueryTx, StoreUnderTest } from './store-under-test.ts'

/** What a test sends. */
export interface Sent {
  readonly id: string
  readonly lane: string
  readonly type?: string
  /** Its number in a sequence, or its version. */
  readonly n?: number
}

export type OrderedEvents = Readonly<Record<string, Sent>>
export type OrderedInbox = Inbox<{ partner: Source<OrderedEvents> }, QueryTx>
type Defaults = HandlerDefaultOptions<{ partner: Source<OrderedEvents> }>
/** Stands between an inbox and its store. */
type Through = (store: Store<QueryTx>) => Store<QueryTx>
type WorkerSetup = InboxOptions<Record<string, Source>, unknown>['worker']

export interface OrderedSetup extends OpenedStore {
  /** As in another process. */
  newInbox(worker?: WorkerSetup, handlerDefaults?: Defaults, through?: Through): OrderedInbox
  /** One after the other, through an inbox that runs no handlers. Their ids, in that order. */
  deliver(...sent: readonly Sent[]): Promise<readonly string[]>
  find(eventId: string): Promise<EventRecord>
  /** Lets what waits have waited for so long. */
  passTime(ms: number): Promise<void>
  /** The keys that were applied in a lane, in the order of their commits. */
  applied(lane: string): Promise<readonly string[]>
}

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const SIGNED = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: [SECRET],
  key: 'json:$.id',
  type: 'json:$.type',
  version: 'json:$.n',
  sequence: 'json:$.n',
} as const

export const laneOf = (event: WebhookEvent<Sent>): string => event.payload.lane

/** Retries at once, and does not give up. */
export const AT_ONCE = { attemptsMax: 50, firstMs: 1, factor: 1 } as const

export async function openOrdered(
  underTest: StoreUnderTest,
  onEnd: OnEnd = onTestFinished,
): Promise<OrderedSetup> {
  const opened = await openStore(underTest, onEnd === undefined ? {} : { onEnd })
  const { database, store } = opened
  await database.query('create table applied (lane text primary key, keys text not null)')
  const newInbox: OrderedSetup['newInbox'] = (
    worker = {},
    handlerDefaults = {},
    through = (own) => own,
  ) => {
    const inbox = createInbox({
      store: through(database.newStore()),
      sources: { partner: hmac<OrderedEvents>({ ...SIGNED, sameBytes: 'run' }) },
      logger: SILENT,
      handlerDefaults,
      receive: { answerTimeoutMs: 30_000 },
      worker: worker === false ? false : { pollMs: 20, stopGraceMs: 2_000, ...worker },
    })
    onEnd(() => inbox.stop())
    return inbox
  }
  const receiver = newInbox(false)
  const execute = (sql: string) => database.query(sql)
  const tables = { execute, tables: '' } as unknown as TestDatabase<never, unknown>
  const clock = new TestClock(tables, () => store)
  return {
    ...opened,
    newInbox,
    deliver: async (...sent) => {
      const ids: string[] = []
      for (const each of sent) ids.push(await deliverTo(receiver, each))
      return ids
    },
    find: async (eventId) => {
      const found = await store.operators.findEvent(eventId)
      if (found === undefined) throw new Error(`There is no event ${eventId}`)
      return found
    },
    passTime: (ms) => clock.advance({ ms }),
    applied: async (lane) => {
      const rows = await database.query('select keys from applied where lane = $1', [lane])
      return rows[0] === undefined ? [] : String(rows[0]['keys']).split(' ')
    },
  }
}

export async function deliverTo(inbox: OrderedInbox, sent: Sent): Promise<string> {
  const eventId = await deliverOnce(inbox, sent)
  if (eventId === undefined) throw new Error(`Event ${sent.id} was not stored`)
  return eventId
}

/** The id that the answer has; `undefined` where the sender has to come again. */
export async function deliverOnce(inbox: OrderedInbox, sent: Sent): Promise<string | undefined> {
  const body = JSON.stringify({ type: 'item.changed', ...sent })
  const { eventId } = await inbox.receive('partner', sign('hmac', { body }, SIGNED))
  return eventId
}

/** The same for one of many runs of a test: what it opens is closed with it, or a server would have too many clients. */
export async function withOrdered(
  underTest: StoreUnderTest,
  run: (setup: OrderedSetup) => Promise<void>,
): Promise<void> {
  const ends: (() => Promise<void>)[] = []
  try {
    await run(await openOrdered(underTest, (end) => ends.push(end)))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

/** What handlers of these tests do in their transaction. */
export async function apply(tx: QueryTx, { payload }: WebhookEvent<Sent>): Promise<void> {
  await tx.query(
    `insert into applied (lane, keys) values ($1, $2)
         on conflict (lane) do update set keys = applied.keys || ' ' || excluded.keys`,
    [payload.lane, payload.id],
  )
}
