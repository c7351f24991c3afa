/**
 * Walks events through the store: into every state, and from there through every operation, whether it is meant for
 * that state or not. What moved is compared with the table in `src/model/event-state.ts`.
 */

import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { EVENT_ACTIONS } from '../../../src/model/event-action.ts'
import { EVENT_STATES, TRANSITIONS } from '../../../src/model/event-state.ts'
import type { EventState } from '../../../src/model/event-state.ts'
import type { EventDraft, EventId } from '../../../src/model/event.ts'
import type { Settlement } from '../../../src/model/outcome.ts'
import { laneIdOf } from '../../../src/ordering/lane-id.ts'
import type { OrderMode } from '../../../src/ordering/order.ts'
import type { Placement } from '../../../src/ordering/place-event.ts'
import { topicOf } from '../../../src/model/topic.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Group } from '../../../src/store/contract/group.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { LeasedEvent, LeasedSettlement } from '../../../src/store/contract/steps.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { LEASE_MS } from '../../support/lease-steps.ts'
import { limitsIn } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'
import {
  act,
  dead,
  done,
  NO_ORDER,
  recordOne,
  retryIn,
  skipped,
  unhandled,
} from '../../support/store-steps.ts'

/** What every store must do with the states of an event. */
export function transitionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: transitions`, () => {
    test(
      'an event goes every way that the table has, and no other',
      { timeout: 180_000 },
      async () => {
        const { store } = await openStore(underTest)
        const taken = new Map<string, string>()

        for (const [way, walkTo] of Object.entries(WAYS)) {
          for (const [name, operate] of Object.entries(OPERATIONS)) {
            const walk = new Walk(store, underTest)
            await walkTo(walk)
            const from = await walk.state()
            expect(way, name).toMatch(new RegExp(`^${from}\\b`))
            await operate(walk)
            const to = await walk.state()
            if (to !== from) taken.set(`${from} to ${to}`, `${way}, ${name}`)
            await walk.end()
          }
        }

        expect([...taken.keys()].sort()).toEqual(listTransitions())
        // Nothing is stuck: what has come to its end, or is kept for a person to look at, can be run by an operator.
        const stuck = EVENT_STATES.filter((state) => !leadsToRunning(state, [...taken.keys()]))
        expect(stuck).toEqual([])
      },
    )
  })
}

function listTransitions(): readonly string[] {
  return Object.entries(TRANSITIONS)
    .flatMap(([from, targets]) => Object.keys(targets).map((to) => `${from} to ${to}`))
    .sort()
}

function leadsToRunning(state: EventState, taken: readonly string[]): boolean {
  const reached = new Set<string>([state])
  for (const from of reached) {
    for (const step of taken) {
      const [before, after] = step.split(' to ')
      if (before === from && after !== undefined) reached.add(after)
    }
  }
  return reached.has('running')
}

let walks = 0

/** One event, which has its type and its worker for itself. */
class Walk {
  readonly store: Store<QueryTx>
  readonly underTest: StoreUnderTest
  readonly draft: EventDraft
  readonly workerId: string
  eventId: EventId = ''
  group: Group<QueryTx> | undefined
  leased: LeasedEvent | undefined

  constructor(store: Store<QueryTx>, underTest: StoreUnderTest) {
    walks += 1
    this.store = store
    this.underTest = underTest
    this.draft = anEventDraft({ key: `evt_${walks}`, type: `type-${walks}` })
    this.workerId = `worker-${walks}`
  }

  get topic(): number {
    return topicOf(this.draft.source, this.draft.type)
  }

  get slot() {
    return { workerId: this.workerId, slot: 0 }
  }

  async record(draft = this.draft): Promise<void> {
    this.eventId = (await recordOne(this.store, draft)).eventId
  }

  async state(): Promise<EventState> {
    const found = await this.store.operators.findEvent(this.eventId)
    assert(found)
    return found.state
  }

  /** As a worker does: claims it if it is due, and says so. */
  async claim(): Promise<Group<QueryTx> | undefined> {
    if (this.group !== undefined) return this.group
    for (const kind of ['fresh', 'head', 'again', 'suspect'] as const) {
      const { source, type } = this.draft
      this.group ??= await this.store.queue.claim(
        aClaim({ slot: this.slot, kind, of: [[source, type]], opensLate: 'always' }),
      )
    }
    if (this.group !== undefined) await this.announce(this.group.events)
    return this.group
  }

  async lease(): Promise<void> {
    if (this.leased !== undefined) return
    await this.store.workers.beat({ workerId: this.workerId, slots: 1, handles: [] })
    const group = await this.claim()
    this.group = undefined
    const request = { workerId: this.workerId, limit: 1, leaseMs: LEASE_MS }
    const leased = await group?.lease(request)
    if (group !== undefined) await this.announce([])
    this.leased = leased?.[0]
  }

  /** Into a lane of its own, unless a worker has it. */
  async sort(place: Omit<Placement, 'lane'>, mode: OrderMode): Promise<void> {
    if (this.group !== undefined) return
    const { source, type } = this.draft
    const lane = { id: laneIdOf(source, mode, type), source, mode, key: type }
    const found = await this.store.lanes.listUnsorted(source)
    const topicsOf = (isOurs: boolean) =>
      found.filter((each) => (each.type === type) === isOurs).map(({ topic }) => topic)
    const request = { source, topics: topicsOf(true), limit: 10, also: [] }
    const events = await this.store.lanes.readUnsorted(request)
    const decided = events.map((event) => ({ event, becomes: { lane, ...place } }))
    await this.store.lanes.sort({ ...request, unordered: topicsOf(false), decided })
  }

  /** Another event of its type, which the walk does not follow. */
  async recordAnother(): Promise<void> {
    const { key, type } = this.draft
    await recordOne(this.store, anEventDraft({ key: `${key} too`, type }))
  }

  /** An event of another type is done, for which this one waits. */
  async finishRequired(): Promise<void> {
    const type = `required by ${this.draft.type}`
    const { source } = this.draft
    await recordOne(this.store, anEventDraft({ key: `for ${this.eventId}`, type }))
    const group = await this.store.queue.claim(aClaim({ of: [[source, type]] }))
    const [event] = group?.events ?? []
    assert(group && event)
    const id = laneIdOf(source, 'after', this.draft.type)
    const frees = [{ id, source, key: this.draft.type, type: 'required' }]
    await group.settle([{ ...done(event), frees } as Settlement])
    assert.deepEqual(await group.commit(), { status: 'committed' })
  }

  async announce(events: readonly ClaimedEvent[]): Promise<void> {
    await this.store.workers.announce(
      this.slot,
      events.map(({ eventId, attempt }) => ({ eventId, attempt })),
    )
  }

  /** Under the claim or the lease that it has; without one, under a lease that is not its own. */
  async settle(
    becomes: (event: ClaimedEvent) => LeasedSettlement['settlement'] & Settlement,
  ): Promise<void> {
    const [event] = this.group?.events ?? []
    if (this.group !== undefined && event !== undefined) {
      const { group } = this
      this.group = undefined
      await group.settle([becomes(event)])
      assert.deepEqual(await group.commit(), { status: 'committed' })
      await this.announce([])
      return
    }
    await this.settleLeased((leased) => becomes(leased))
  }

  async settleLeased(
    becomes: (event: ClaimedEvent) => LeasedSettlement['settlement'],
  ): Promise<void> {
    const stranger = { eventId: this.eventId, run: 0, token: 0 }
    const lease = this.leased?.lease ?? stranger
    const event = this.leased ?? this.asClaimed()
    await this.store.steps.settle([{ lease, settlement: becomes(event) }])
  }

  /** As one would have it who has claimed the event for its first attempt. */
  asClaimed(): ClaimedEvent {
    const { eventId, topic, draft } = this
    const { source, type, headers, receivedAt, occurredAt, version, sequence, verifiedBy } = draft
    const known = { source, type, headers, receivedAt, occurredAt, version, sequence, verifiedBy }
    const body = { bytes: draft.body }
    const place = { run: 0, attempt: 1, crashes: 0, key: draft.key ?? '', keyHash: '' }
    return { eventId, topic, body, isModified: false, ...place, ...known }
  }

  /** The process is gone; on PostgreSQL its connection with it. */
  async crash(crashesMax: number): Promise<void> {
    if (!this.underTest.capabilities.opensLate) await this.group?.abandon()
    const hearts = await this.store.workers.listHearts()
    const stopped = hearts.filter(({ workerId }) => workerId === this.workerId)
    await this.store.workers.sweep({ stopped, crashesMax })
  }

  async end(): Promise<void> {
    await this.group?.abandon()
    await this.store.workers.remove(this.workerId)
  }
}

const BEHIND_A_GAP = { number: 5, first: 1, waitMs: 0, policy: 'dead' } as const
const REQUIRING = { place: 'required', waitMs: 3_600_000, policy: 'run' } as const

/** How an event gets into a state; the name begins with the state. */
const WAYS: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  ready: (walk) => walk.record(),
  'ready after a failure': async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(retryIn(0))
  },
  'running in a group': async (walk) => {
    await walk.record()
    await walk.claim()
  },
  'running under a lease': async (walk) => {
    await walk.record()
    await walk.lease()
  },
  done: async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(done)
  },
  skipped: async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(skipped)
  },
  dead: async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(dead)
  },
  unhandled: async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(unhandled)
  },
  conflict: async (walk) => {
    await walk.record()
    await walk.claim()
    await walk.settle(done)
    await walk.record(withBody(walk.draft, '{"other":1}'))
  },
  'waiting behind a gap': async (walk) => {
    await walk.record()
    await walk.sort(BEHIND_A_GAP, 'sequence')
  },
  'waiting for another type': async (walk) => {
    await walk.record()
    await walk.sort(REQUIRING, 'after')
  },
  'running, with an older one behind it': async (walk) => {
    await walk.record()
    await walk.sort({ place: 'n012' }, 'latest')
    await walk.recordAnother()
    await walk.sort({ place: 'n011' }, 'latest')
    await walk.claim()
  },
  quarantined: async (walk) => {
    await walk.record(anEventDraft({ ...walk.draft, quarantine: 'outside the time window' }))
  },
  discarded: async (walk) => {
    await walk.record()
    await act(walk.store, 'discard', walk.eventId)
  },
}

/** All that a store can do with an event, for every caller that may ask for it. */
const OPERATIONS: Readonly<Record<string, (walk: Walk) => Promise<unknown>>> = {
  'a worker claims it': (walk) => walk.claim(),
  'a worker leases it': (walk) => walk.lease(),
  'its handlers returned': (walk) => walk.settle(done),
  'a handler skipped it': (walk) => walk.settle(skipped),
  'a handler threw': (walk) => walk.settle(retryIn(0)),
  'the last attempt failed': (walk) => walk.settle(dead),
  'no handler was found': (walk) => walk.settle(unhandled),
  'the worker gives it back': async (walk) => {
    await walk.group?.abandon()
    await walk.announce([])
    await walk.settleLeased(() => ({ state: 'given-back' }))
  },
  'it has no step handlers any more': (walk) => walk.settleLeased(() => ({ state: 'regrouped' })),
  'the worker has forgotten its lease': (walk) =>
    walk.store.steps.giveBackForgotten(walk.workerId, []),
  'a handler threw, and it runs again in an hour': (walk) => walk.settle(retryIn(3_600_000)),
  'a worker sorts it': (walk) => walk.sort(BEHIND_A_GAP, 'sequence'),
  'it has waited for as long as it may': async ({ store }) =>
    store.lanes.passDeadlines({ late: await store.lanes.listLate(), limit: 1_000 }),
  'what it requires is done': async (walk) => {
    if (walk.group === undefined) await walk.finishRequired()
  },
  'its transaction was lost, and it is tried again': (walk) => loseTo(walk, retryIn(0)),
  'its transaction was lost for the last time': (walk) => loseTo(walk, dead),
  'its worker crashed': (walk) => walk.crash(3),
  'its worker crashed for the last time': (walk) => walk.crash(1),
  'no worker has a handler for it': async ({ store, topic }) => {
    for (const kind of ['fresh', 'head', 'again', 'suspect', 'leasable'] as const)
      await store.queue.parkUnhandled({ kind, topics: [topic], limit: 10 })
  },
  'a handler appears': ({ store, topic }) => store.queue.wakeUnhandled([topic], 10),
  'it is delivered again': ({ store, draft }) => recordOne(store, draft),
  'its key is delivered with other content': ({ store, draft }) =>
    recordOne(store, withBody(draft, '{"third":1}')),
  'the sender asks for it': ({ store, eventId }) => store.events.nudge(eventId),
  ...Object.fromEntries(
    EVENT_ACTIONS.map((action) => [
      `an operator asks for ${action}`,
      ({ store, eventId }: Walk) => act(store, action, eventId),
    ]),
  ),
  'its days have passed': (walk) => outlive(walk),
  'its lane is paused': ({ store, draft }) => store.pauses.pause(laneOf(draft), NO_ORDER),
  'its lane is resumed': ({ store, draft }) => store.pauses.resume(laneOf(draft), NO_ORDER),
}

/** As `Walk.sort` has it. */
function laneOf({ source, type }: EventDraft) {
  return { kind: 'lane', source, name: type } as const
}

/** A run of the pruner after so many days that no event should be dead any more. */
async function outlive({ store }: Walk): Promise<void> {
  await store.retention.prune('dead', limitsIn(400, { deadDays: 365 }), undefined)
}

/** The same key with other content. */
function withBody({ key, type }: EventDraft, body: string): EventDraft {
  return anEventDraft({ key, type, body })
}

async function loseTo(
  walk: Walk,
  becomes: (event: ClaimedEvent) => Extract<Settlement, { state: 'ready' | 'dead' }>,
): Promise<void> {
  const [event = walk.asClaimed()] = walk.group?.events ?? []
  await walk.group?.abandon()
  walk.group = undefined
  await walk.announce([])
  await walk.store.queue.settleLost(becomes(event))
}
