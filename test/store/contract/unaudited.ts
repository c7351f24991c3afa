import { describe, expect, onTestFinished, test } from 'vitest'
import { createOperator } from '../../../src/admin/create-operator.ts'
import type { StandaloneOperator } from '../../../src/admin/create-operator.ts'
import type { ACT_ROUTES } from '../../../src/gateway/admin/act-routes.ts'
import { prune } from '../../../src/retention/prune.ts'
import { anEventDraft } from '../../support/builders.ts'
import { recordKeys, sort } from '../../support/lane-steps.ts'
import { aCall, leaseOne } from '../../support/lease-steps.ts'
import { claimOne, deadMessage, enqueue, unknownMessage } from '../../support/outbox-steps.ts'
import { policyIn } from '../../support/retention-steps.ts'
import { eitherWay } from '../../support/step-handlers.ts'
import { dead, done, NO_ORDER, recordOne, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { OpenedStore, StoreUnderTest } from '../../support/store-under-test.ts'

/** What is there, and what is done then. */
interface Case {
  /** Something that the action would change. Returns what it is known by. */
  readonly given: (there: There) => Promise<string>
  readonly act: (there: There, id: string) => Promise<unknown>
}

interface There {
  readonly store: OpenedStore['store']
  readonly admin: StandaloneOperator
}

const WHY = { reason: 'as the customer asked' }

const aDeadEvent: Case['given'] = async ({ store }) => {
  await recordOne(store, anEventDraft())
  return runOne(store, dead)
}

const aDoneEvent: Case['given'] = async ({ store }) => {
  await recordOne(store, anEventDraft())
  return runOne(store, done)
}

const aQuarantinedEvent: Case['given'] = async ({ store }) =>
  (await recordOne(store, anEventDraft({ quarantine: 'outside the time window' }))).eventId

const aStepInDoubt: Case['given'] = async ({ store }) => {
  await recordOne(store, anEventDraft())
  const leased = await leaseOne(store)
  await store.steps.writeCalls([aCall(leased)])
  await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])
  return leased.eventId
}

const aDeadMessage: Case['given'] = async ({ store }) => {
  await enqueue(store, { key: 'k1' })
  const message = await claimOne(store)
  await store.messages.settle([deadMessage(message)])
  return message.id
}

const anUnknownMessage: Case['given'] = async ({ store }) => {
  await enqueue(store, { key: 'k1' })
  const message = await claimOne(store)
  await store.messages.settle([unknownMessage(message)])
  return message.id
}

const aPlannedBulk: Case['given'] = async (there) => {
  await aDeadEvent(there)
  return (await there.admin.bulk.plan({ action: 'retry', filter: {} })).id
}

const aPausedSource: Case['given'] = async ({ admin }) => {
  await admin.pause({ source: 'stripe' })
  return 'stripe'
}

const LANE = { lane: { source: 'stripe', key: 'K' } }

const anOrderedEvent: Case['given'] = async ({ store }) => {
  await recordKeys(store, ['K1'])
  await sort(store)
  return 'K'
}

const aPausedLane: Case['given'] = async (there) => {
  const key = await anOrderedEvent(there)
  expect(await there.admin.pause(LANE)).toEqual({ status: 'done' })
  return key
}

const TOKEN = { name: 'ci', role: 'viewer', hash: 'a'.repeat(64), lifetimeMs: undefined }

/** Every action of the admin API, and what only the command line does. */
const CASES = {
  retry: { given: aDeadEvent, act: ({ admin }, id) => admin.retry(id) },
  release: { given: aQuarantinedEvent, act: ({ admin }, id) => admin.release(id, WHY) },
  discard: { given: aDeadEvent, act: ({ admin }, id) => admin.discard(id, WHY) },
  forget: { given: aDoneEvent, act: ({ admin }, id) => admin.forget(id) },
  erase: { given: aDoneEvent, act: ({ admin }, id) => admin.erase(id, WHY) },
  replay: { given: aDoneEvent, act: ({ admin }, id) => admin.replay(id, WHY) },
  resolveStep: {
    given: aStepInDoubt,
    act: ({ admin }, id) => admin.resolveStep(id, 'charge', { happened: true, result: 'found' }),
  },
  retryMessage: { given: aDeadMessage, act: ({ admin }, id) => admin.retryMessage(id) },
  confirmMessage: { given: anUnknownMessage, act: ({ admin }, id) => admin.confirmMessage(id) },
  discardMessage: { given: aDeadMessage, act: ({ admin }, id) => admin.discardMessage(id) },
  pause: { given: aDeadEvent, act: ({ admin }) => admin.pause({ source: 'stripe' }) },
  'pause of a lane': { given: anOrderedEvent, act: ({ admin }) => admin.pause(LANE) },
  resume: { given: aPausedSource, act: ({ admin }, source) => admin.resume({ source }) },
  'resume of a lane': { given: aPausedLane, act: ({ admin }) => admin.resume(LANE) },
  planBulk: {
    given: aDeadEvent,
    act: ({ admin }) => admin.bulk.plan({ action: 'retry', filter: {} }),
  },
  runBulk: {
    given: aPlannedBulk,
    act: async ({ admin }, id) => {
      const run = await admin.bulk.run(id)
      return run.status === 'done' ? run.ended : run
    },
  },
  'one event of a bulk': {
    given: aPlannedBulk,
    act: ({ store }, id) => store.bulks.actOnNext(id),
  },
  abortBulk: { given: aPlannedBulk, act: ({ admin }, id) => admin.bulk.abort(id) },
  eraseWhere: {
    given: aDoneEvent,
    act: ({ admin }) =>
      admin.eraseWhere({ path: '$.amount', equals: 1 }, { ...WHY, source: 'stripe' }),
  },
  prune: {
    given: aDoneEvent,
    act: ({ store }) =>
      prune({ store, policy: policyIn(40) }, { force: true, order: { ...NO_ORDER, ...WHY } }),
  },
  createToken: { given: aDeadEvent, act: ({ store }) => store.tokens.create(TOKEN, 'kim') },
  revokeToken: {
    given: async ({ store }) => {
      await store.tokens.create(TOKEN, 'kim')
      return TOKEN.name
    },
    act: ({ store }, name) => store.tokens.revoke(name, 'kim'),
  },
} satisfies Record<keyof typeof ACT_ROUTES, Case> & Record<string, Case>

/** Not the table under another name: a database of which that is left has to be made anew for the next test. */
const REFUSE_AUDIT = `
  create function public.refuse_audit() returns trigger language plpgsql
  as $$ begin raise exception 'the audit takes nothing'; end $$;
  create trigger refuse_audit before insert or update on hookonce.audit
  for each row execute function public.refuse_audit()`

/** What an operator's action is worth without its row in the audit. */
export function unauditedContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: what cannot be written to the audit`, () => {
    test.each(Object.entries<Case>(CASES))(
      'D15: does not happen: %s',
      async (_action, { given, act }) => {
        const there = await open()
        const id = await given(there)
        await eitherWay(
          there.query,
          REFUSE_AUDIT,
          'alter table hookonce_audit rename to hookonce_elsewhere',
        )
        const before = await readEverything(there.query)

        await expect(act(there, id)).rejects.toThrow()

        expect(await readEverything(there.query)).toEqual(before)
      },
    )

    test.each(Object.entries<Case>(CASES))(
      'D15: would have changed something: %s',
      async (_action, { given, act }) => {
        const there = await open()
        const id = await given(there)
        const before = await readEverything(there.query)

        await act(there, id)

        const after = await readEverything(there.query)
        expect(without('audit', after)).not.toEqual(without('audit', before))
        expect(after).not.toEqual(before)
      },
    )
  })

  async function open() {
    const { store, database } = await openStore(underTest)
    const admin = createOperator({ store: database.newStore() })
    onTestFinished(() => admin.close())
    return { store, admin, query: database.query }
  }
}

type Query = OpenedStore['database']['query']

/** Every row of every table of ours. */
async function readEverything(query: Query): Promise<Readonly<Record<string, readonly string[]>>> {
  const names = (
    await query(
      `select 'hookonce.' || tablename as name from pg_tables where schemaname = 'hookonce' order by 1`,
    ).catch(() =>
      query(
        `select name from sqlite_master where type = 'table' and name like 'hookonce%' order by 1`,
      ),
    )
  ).map(({ name }) => String(name))
  const tables: [string, readonly string[]][] = []
  for (const name of names) {
    const rows = await query(`select * from ${name}`)
    tables.push([name, rows.map((row) => JSON.stringify(row, plain)).toSorted()])
  }
  return Object.fromEntries(tables)
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

function without(table: string, all: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(all).filter(([name]) => !name.endsWith(table))
}
