import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Lease } from '../../src/store/contract/steps.ts'
import type { Group } from '../../src/store/contract/group.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/store/index.ts'
import { openConformance } from '../support/open-conformance.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../support/sqlite-under-test.ts'
import type { QueryTx } from '../support/store-under-test.ts'

type SpoiltStore = Store<QueryTx, unknown>
type Spoil = (store: SpoiltStore) => SpoiltStore

/** A store whose author has left out a guard, and the part of the contract that tells. */
const MISTAKES: readonly (readonly [mistake: string, part: string, spoil: Spoil])[] = [
  [
    'record forgets the key',
    'record: ',
    (store) =>
      spoilPart(store, 'events', ({ record }) => ({
        record: (drafts, options) =>
          record(
            drafts.map((draft) => ({ ...draft, keyHash: randomBytes(32).toString('latin1') })),
            options,
          ),
      })),
  ],
  [
    'record does not compare contents',
    'record, same key and other content',
    (store) =>
      spoilPart(store, 'events', ({ record }) => ({
        record: (drafts, options) =>
          record(
            drafts.map((draft) => ({ ...draft, fingerprint: '\0'.repeat(32) })),
            options,
          ),
      })),
  ],
  [
    'commit loses what it was to keep',
    'the lent transaction: ',
    (store) =>
      spoilGroups(store, (group) => ({
        commit: async () => {
          await group.abandon()
          return { status: 'committed' }
        },
      })),
  ],
  [
    'a group that is given up is committed',
    'the lent transaction: ',
    (store) =>
      spoilGroups(store, (group) => ({
        abandon: async () => {
          await group.commit()
        },
      })),
  ],
  [
    'settle is forgotten by the commit of the handler',
    'the lent transaction: ',
    (store) => spoilGroups(store, () => ({ settle: async () => new Set() })),
  ],
  [
    'a lent transaction is not revoked',
    'the lent transaction: ',
    (store) =>
      spoilGroups(store, (group) => ({
        lend: (clock) =>
          spoil(group.lend(clock), () => ({ revoke: async () => {}, revokeNow: () => {} })),
      })),
  ],
  [
    'a claim takes what another worker is listed as running',
    'crash sweep: ',
    (store) =>
      spoilPart(store, 'queue', ({ claim }) => ({
        claim: (request) => claim({ ...request, slot: { workerId: 'worker-1', slot: 0 } }),
      })),
  ],
  [
    'a sweep does not look whether a heart has moved',
    'crash sweep: ',
    (store) =>
      spoilPart(store, 'workers', ({ sweep, listHearts }) => ({
        sweep: async ({ stopped, crashesMax }) => {
          const hearts = await listHearts()
          const named = new Set(stopped.map(({ workerId }) => workerId))
          return sweep({
            stopped: hearts.filter(({ workerId }) => named.has(workerId)),
            crashesMax,
          })
        },
      })),
  ],
  [
    'what is settled under a lease does not name its token',
    'settling under a lease: ',
    (store) => {
      const latest = new Map<string, Lease>()
      return spoilPart(store, 'steps', ({ lease, settle }) => ({
        lease: async (request) => {
          const leased = await lease(request)
          for (const each of leased) latest.set(each.eventId, each.lease)
          return leased
        },
        settle: (settlements) =>
          settle(
            settlements.map((each) => ({
              ...each,
              lease: latest.get(each.lease.eventId) ?? each.lease,
            })),
          ),
      }))
    },
  ],
  [
    'a relay that lost its lease is believed',
    'claim messages: ',
    (store) => {
      const latest = new Map<string, string>()
      return spoilPart(store, 'messages', ({ claim, settle }) => ({
        claim: async (request) => {
          const claimed = await claim(request)
          for (const { id, token } of claimed) latest.set(id, token)
          return claimed
        },
        settle: (settlements) =>
          settle(
            settlements.map((each) => ({ ...each, token: latest.get(each.id) ?? each.token })),
          ),
      }))
    },
  ],
  [
    'a message is written again under its key',
    'the lent transaction: ',
    (store) =>
      spoilPart(store, 'messages', ({ enqueue }) => ({
        enqueue: (tx, drafts) =>
          enqueue(
            tx,
            drafts.map((draft) => ({ ...draft, key: randomBytes(8).toString('hex') })),
          ),
      })),
  ],
  [
    'once does not say that it is done',
    'once, in a transaction',
    (store) => spoilPart(store, 'once', () => ({ finish: async () => {} })),
  ],
  [
    'a savepoint of once is none',
    'once, in a transaction',
    (store) => spoilPart(store, 'once', () => ({ inSavepoint: (_tx, work) => work() })),
  ],
  [
    'every event has a lane of its own',
    'lanes: ',
    (store) =>
      spoilPart(store, 'lanes', ({ sort }) => ({
        sort: (request) =>
          sort({
            ...request,
            decided: request.decided.map(({ event, becomes }) => ({
              event,
              becomes:
                'lane' in becomes
                  ? { ...becomes, lane: { ...becomes.lane, id: event.eventId } }
                  : becomes,
            })),
          }),
      })),
  ],
  [
    'a pause holds nothing',
    'a paused lane: ',
    (store) => spoilPart(store, 'pauses', () => ({ pause: async () => ({ status: 'done' }) })),
  ],
  [
    'a token stands for nothing',
    'actions on events: Y02',
    (store) =>
      spoilPart(store, 'operators', ({ act }) => ({
        act: (request) => act({ ...request, token: undefined }),
      })),
  ],
  [
    'forgetting leaves the memory of other processes as it is',
    'operators: forgetting',
    (store) =>
      spoilPart(store, 'events', ({ beat }) => ({
        beat: async (since) => ({ ...(await beat(since)), epoch: '1' }),
      })),
  ],
  [
    'dead events are pruned like those that are done',
    'retention: ',
    (store) =>
      spoilPart(store, 'retention', ({ prune }) => ({
        prune: (part, limits, after) => prune(part, { ...limits, dead: limits.done }, after),
      })),
  ],
  [
    'a reading is not closed',
    'a reading: that was closed',
    (store) =>
      spoilPart(store, 'readings', ({ open }) => ({
        open: async (limits) => spoil(await open(limits), () => ({ close: async () => {} })),
      })),
  ],
]

test.each(MISTAKES)('the conformance suite tells when %s', async (_mistake, part, spoilStore) => {
  const cases = storeConformance({
    openDatabase: async () => {
      const database = await openConformance(sqliteUnderTest(DEFAULT_DRIVER))
      return spoil(database, ({ newStore }) => ({ newStore: () => spoilStore(newStore()) }))
    },
    hasOneWriter: true,
  }).filter(({ name }) => name.startsWith(part))

  expect(cases).not.toEqual([])
  expect(await findFailure(cases)).toMatchObject({ code: 'ERR_ASSERTION' })
})

test('options that are unknown, or none, are refused by name', () => {
  const openDatabase = () => openConformance(sqliteUnderTest(DEFAULT_DRIVER))
  const given = storeConformance as (options: object) => unknown

  expect(() => given({ openDatabase, oneWriter: true })).toThrow(
    /storeConformance: unknown option "oneWriter"/,
  )
  expect(() => given({})).toThrow(/storeConformance\.openDatabase must be a function/)
  expect(() => given({ openDatabase, hasOneWriter: 1 })).toThrow(/storeConformance\.hasOneWriter/)
})

/** What the first of them that fails has thrown. */
async function findFailure(cases: readonly { run(): Promise<void> }[]): Promise<unknown> {
  for (const { run } of cases) {
    const error: unknown = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error !== undefined) return error
  }
  return undefined
}

/** The same object with other methods; those that are left call the real one. */
function spoil<Target extends object>(
  target: Target,
  change: (bound: Target) => Partial<Target>,
): Target {
  const bound = new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const changed = change(bound)
  return new Proxy(bound, {
    get: (_, name) => Reflect.get(name in changed ? changed : bound, name) as unknown,
  })
}

function spoilPart<
  Part extends
    | 'events'
    | 'queue'
    | 'workers'
    | 'steps'
    | 'messages'
    | 'once'
    | 'lanes'
    | 'pauses'
    | 'operators'
    | 'retention'
    | 'readings',
>(
  store: SpoiltStore,
  part: Part,
  change: (bound: SpoiltStore[Part]) => Partial<SpoiltStore[Part]>,
): SpoiltStore {
  const spoilt = spoil(store[part], change)
  return spoil(store, () => ({ [part]: spoilt }))
}

function spoilGroups(
  store: SpoiltStore,
  change: (group: Group<QueryTx>) => Partial<Group<QueryTx>>,
): SpoiltStore {
  return spoilPart(store, 'queue', ({ claim }) => ({
    claim: async (request) => {
      const group = await claim(request)
      return group && spoil(group, change)
    },
  }))
}
