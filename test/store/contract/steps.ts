import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import type {
  CallEntry,
  LeasedEvent,
  OpenStep,
  StepTransaction,
  StepResolution,
} from '../../../src/store/contract/steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'
import { NO_ORDER, recordOne, sweepOthers } from '../../support/store-steps.ts'

const WRITE = 'insert into effects (event_key, note) values ($1, $2)'
const OTHER = 'worker-2'
const LIMITS = { idleTimeoutMs: 60_000, lockTimeoutMs: 0 }

/** What every store must do with steps: keep them under the lease, and refuse them without. */
export function stepsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: steps`, () => {
    async function openLeased() {
      const opened = await openStore(underTest)
      await opened.createEffects()
      await recordOne(opened.store, anEventDraft())
      return { ...opened, leased: await leaseOne(opened.store) }
    }

    /** Another worker has found this one dead. */
    async function takeOver(store: Store<QueryTx>): Promise<void> {
      await sweepOthers(store, { crashesMax: 9, me: OTHER })
    }

    test('what a step writes and its result become visible together', async () => {
      const { store, leased, countEffects } = await openLeased()

      const step = await open(store, aStep(leased))
      await step.lend().tx.query(WRITE, ['evt_1', 'kept'])
      expect(await countEffects()).toBe(0)
      expect(await step.commit([{ text: '{"id":7}' }])).toEqual({ status: 'committed' })

      expect(await countEffects()).toBe(1)
      expect(await store.steps.list(leased.eventId)).toMatchObject([
        { handler: 'h', position: 1, kind: 'tx', name: 'write', state: 'done', result: '{"id":7}' },
      ])
    })

    test('a step that is abandoned leaves nothing, and can be taken again', async () => {
      const { store, leased, countEffects } = await openLeased()
      const step = await open(store, aStep(leased))
      await step.lend().tx.query(WRITE, ['evt_1', 'gone'])

      await step.abandon()

      expect(await countEffects()).toBe(0)
      expect(await store.steps.list(leased.eventId)).toEqual([])
      const again = await open(store, aStep(leased))
      expect(await again.commit([{ text: undefined }])).toEqual({ status: 'committed' })
    })

    test('a step is opened only under the lease', async () => {
      const { store, leased } = await openLeased()
      const { lease } = leased

      expect(
        await store.steps.open(
          [aStep(leased, { lease: { ...lease, token: lease.token + 1 } })],
          LIMITS,
        ),
      ).toBeUndefined()
      await takeOver(store)
      expect(await store.steps.open([aStep(leased)], LIMITS)).toBeUndefined()
    })

    test('steps of several events share a transaction: those that ran are kept, those without a lease never', async () => {
      const { store, leased, countEffects } = await openLeased()
      await recordOne(store, anEventDraft({ key: 'evt_2' }))
      const other = await leaseOne(store)
      const stale = { ...leased.lease, token: 999_999 }

      const shared = await store.steps.open(
        [
          aStep(leased),
          aStep(leased, { position: 2, name: 'stale', lease: stale }),
          aStep(other, { name: 'not run' }),
          aStep(leased, { position: 3, name: 'third' }),
        ],
        LIMITS,
      )
      assert(shared)
      await shared.lend().tx.query(WRITE, ['evt_1', 'kept'])

      expect(shared.held).toEqual([true, false, true, true])
      expect(
        await shared.commit([{ text: '1' }, undefined, undefined, { text: undefined }]),
      ).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
      expect((await store.steps.list(leased.eventId)).map(({ name }) => name)).toEqual([
        'write',
        'third',
      ])
      expect(await store.steps.list(other.eventId)).toEqual([])
    })

    test('H15: a step cannot be kept twice', async () => {
      const { store, leased, countEffects } = await openLeased()
      const first = await open(store, aStep(leased))
      await first.lend().tx.query(WRITE, ['evt_1', 'first'])
      await first.commit([{ text: '1' }])

      const outcome = await store.steps
        .open([aStep(leased)], LIMITS)
        .then(async (step) => step?.commit([{ text: '2' }]))
        .catch(() => ({ status: 'refused' }))

      expect(outcome?.status).toBe('refused')
      expect(await countEffects()).toBe(1)
      expect(await store.steps.list(leased.eventId)).toMatchObject([{ result: '1' }])
    })

    test('while a step is open its event is not taken from it', async () => {
      const { store, leased, second, countEffects } = await openLeased()
      const other = await second()
      const step = await open(store, aStep(leased))
      await step.lend().tx.query(WRITE, ['evt_1', 'kept'])

      const sweeping = takeOver(other).catch(() => undefined)
      // SQLite's sweep waits for the writer, and finds a heart that the commit has moved.
      if (underTest.capabilities.parallelGroups) await sweeping
      expect(await step.commit([{ text: '1' }])).toEqual({ status: 'committed' })
      await sweeping

      expect(await countEffects()).toBe(1)
    })

    test('what is lent is worth nothing after the step', async () => {
      const { store, leased } = await openLeased()
      const step = await open(store, aStep(leased))
      const lent = step.lend()
      await step.commit([{ text: undefined }])
      await lent.revoke()

      await expect(lent.tx.query(WRITE, ['evt_1', 'late'])).rejects.toThrow()
    })

    test('a result that is awkward as text comes back as it was', async () => {
      const { store, leased } = await openLeased()
      const result = JSON.stringify({
        nul: 'a\u0000b',
        quote: `'"\\`,
        dollar: '$$ $1',
        é: '\ud800',
      })
      const name = `it's a "step" \\ {schema} $1`

      const step = await open(store, aStep(leased, { name }))
      await step.commit([{ text: result }])

      expect(await store.steps.list(leased.eventId)).toMatchObject([{ name, result }])
    })

    test('a call is started, then done, and its starts are counted', async () => {
      const { store, leased } = await openLeased()

      const [started] = await store.steps.writeCalls([aCall(leased)])
      const [again] = await store.steps.writeCalls([aCall(leased)])
      expect(started?.uncertainForMs).toBeGreaterThanOrEqual(0)
      expect(again?.uncertainForMs).toBeGreaterThanOrEqual(0)
      expect(await store.steps.list(leased.eventId)).toMatchObject([
        { kind: 'call', state: 'started', starts: 2, result: undefined },
      ])
      await store.steps.writeCalls([aCall(leased, { change: 'done', result: '"ok"' })])

      expect(await store.steps.list(leased.eventId)).toMatchObject([
        { state: 'done', starts: 2, result: '"ok"' },
      ])
    })

    test('a call that is done stays done', async () => {
      const { store, leased } = await openLeased()
      await store.steps.writeCalls([aCall(leased)])
      await store.steps.writeCalls([aCall(leased, { change: 'done', result: '1' })])

      for (const change of ['started', 'restarted', 'refused'] as const)
        expect(await store.steps.writeCalls([aCall(leased, { change })])).toEqual([undefined])
      expect(
        await store.steps.writeCalls([aCall(leased, { change: 'done', result: '2' })]),
      ).toEqual([undefined])
      expect(await store.steps.list(leased.eventId)).toMatchObject([{ state: 'done', result: '1' }])
    })

    test.each(['1', undefined])(
      'a result (%j) may be written again, by one who has not heard that it was',
      async (result) => {
        const { store, leased } = await openLeased()
        await store.steps.writeCalls([aCall(leased)])
        const [first] = await store.steps.writeCalls([aCall(leased, { change: 'done', result })])
        const [again] = await store.steps.writeCalls([aCall(leased, { change: 'done', result })])

        expect([first, again].map((each) => each !== undefined)).toEqual([true, true])
        expect(await store.steps.list(leased.eventId)).toMatchObject([
          { state: 'done', result, starts: 1 },
        ])
      },
    )

    // A worker that stood still may have the event twice: from before, and leased again by itself.
    test('of two attempts that ask together for the same step, only the one with the lease has it', async () => {
      const { store, leased: before } = await openLeased()
      await takeOver(store)
      const leased = await leaseOne(store)

      const written = await store.steps.writeCalls([aCall(before), aCall(leased)])
      const place = { position: 2 }
      const opened = await store.steps.open([aStep(before, place), aStep(leased, place)], LIMITS)

      expect(written.map((each) => each !== undefined)).toEqual([false, true])
      expect(opened?.held).toEqual([false, true])
      await opened?.abandon()
      expect(await store.steps.list(leased.eventId)).toMatchObject([
        { state: 'started', starts: 1 },
      ])
    })

    test('how long a call is uncertain counts from its first start, and from anew once it is known not to have happened', async () => {
      const { store, leased, database } = await openLeased()
      const age = async () => {
        await database
          .query(`update hookonce.steps set started_at = started_at - interval '1 hour'`)
          .catch(() =>
            database.query('update hookonce_steps set started_at = started_at - 3600000'),
          )
      }
      const uncertain = async (change: CallEntry['change']) =>
        (await store.steps.writeCalls([aCall(leased, { change })]))[0]?.uncertainForMs ?? Number.NaN
      await uncertain('started')
      await age()

      expect(await uncertain('started')).toBeGreaterThanOrEqual(3_600_000)
      expect(await uncertain('restarted')).toBeLessThan(3_600_000)
      await age()
      expect(await uncertain('refused')).toBeGreaterThanOrEqual(3_600_000)
      expect(await uncertain('started')).toBeLessThan(3_600_000)
    })

    test('calls of many events are written together, and those without a lease are not', async () => {
      const { store, leased } = await openLeased()
      const stale = { ...leased.lease, token: leased.lease.token + 1 }

      const written = await store.steps.writeCalls([
        aCall(leased, { position: 1 }),
        aCall(leased, { position: 2, name: 'other', lease: stale }),
        aCall(leased, { position: 3, name: 'third' }),
      ])

      expect(written.map((each) => each !== undefined)).toEqual([true, false, true])
      expect((await store.steps.list(leased.eventId)).map(({ position }) => position)).toEqual([
        1, 3,
      ])
      await takeOver(store)
      expect(await store.steps.writeCalls([aCall(leased, { change: 'done' })])).toEqual([undefined])
    })

    test('the next lease says that there are steps', async () => {
      const { store, leased } = await openLeased()
      expect(leased.hasSteps).toBe(false)
      await store.steps.writeCalls([aCall(leased)])
      await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])

      expect((await leaseOne(store)).hasSteps).toBe(true)
    })

    test('an operator resolves a call of unknown outcome, and no other', async () => {
      const { store, leased } = await openLeased()
      await store.steps.writeCalls([aCall(leased)])
      const resolution = { eventId: leased.eventId, handler: undefined, name: 'charge' }
      const happened = { happened: true, result: '"found"' } as const

      const resolve = (more: object, decision: StepResolution['decision'] = happened) =>
        store.steps.resolve({ ...resolution, ...more, decision }, NO_ORDER)
      expect(await resolve({})).toEqual({ status: 'refused', code: 'EVENT_RUNNING' })
      await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])
      expect(await resolve({ name: 'x' })).toEqual({ status: 'refused', code: 'STEP_CERTAIN' })
      expect(await resolve({})).toMatchObject({ status: 'done' })

      expect(await store.steps.list(leased.eventId)).toMatchObject([
        { state: 'done', result: '"found"' },
      ])
      expect(await resolve({}, { happened: false })).toMatchObject({ code: 'STEP_CERTAIN' })
    })
  })
}

async function open(store: Store<QueryTx>, request: OpenStep): Promise<StepTransaction<QueryTx>> {
  const step = await store.steps.open([request], LIMITS)
  assert(step, 'the lease should hold')
  return step
}

function aStep({ lease }: LeasedEvent, input: Partial<OpenStep> = {}): OpenStep {
  return {
    lease,
    handler: 'h',
    position: 1,
    kind: 'tx',
    name: 'write',
    ...input,
  }
}

function aCall({ lease }: LeasedEvent, input: Partial<CallEntry> = {}): CallEntry {
  return {
    lease,
    handler: 'h',
    position: 1,
    name: 'charge',
    change: 'started',
    result: undefined,
    ...input,
  }
}
