import assert from 'node:assert/strict'
import { assertMatches, assertAtLeast } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase, OpenStore } from '../store-case.ts'
import type {
  LeasedEvent,
  OpenStep,
  StepTransaction,
  StepResolution,
} from '../../../store/contract/steps.ts'
import { anEventDraft } from '../steps/builders.ts'
import { aCall, leaseOne } from '../steps/lease-steps.ts'
import { NO_ORDER, recordOne, sweepOthers } from '../steps/store-steps.ts'

async function openLeased(open: OpenStore) {
  const opened = await open()
  await recordOne(opened.store, anEventDraft())
  return { ...opened, leased: await leaseOne(opened.store) }
}

/** Another worker has found this one dead. */
async function takeOver(store: AnyStore): Promise<void> {
  await sweepOthers(store, { crashesMax: 9, me: OTHER })
}

export const stepCases: readonly StoreCase[] = [
  ...casesOf('steps', [
    {
      name: 'what a step writes and its result become visible together',
      run: async (open) => {
        const { store, leased, countEffects, writeEffect } = await openLeased(open)

        const step = await openStep(store, aStep(leased))
        await writeEffect(step.lend().tx, 'evt_1')
        assert.equal(await countEffects(), 0)
        assert.deepEqual(await step.commit([{ text: '{"id":7}' }]), { status: 'committed' })

        assert.equal(await countEffects(), 1)
        assertMatches(await store.steps.list(leased.eventId), [
          {
            handler: 'h',
            position: 1,
            kind: 'tx',
            name: 'write',
            state: 'done',
            result: '{"id":7}',
          },
        ])
      },
    },

    {
      name: 'a step that is abandoned leaves nothing, and can be taken again',
      run: async (open) => {
        const { store, leased, countEffects, writeEffect } = await openLeased(open)
        const step = await openStep(store, aStep(leased))
        await writeEffect(step.lend().tx, 'evt_1')

        await step.abandon()

        assert.equal(await countEffects(), 0)
        assert.deepEqual(await store.steps.list(leased.eventId), [])
        const again = await openStep(store, aStep(leased))
        assert.deepEqual(await again.commit([{ text: undefined }]), { status: 'committed' })
      },
    },

    {
      name: 'a step is opened only under the lease',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        const { lease } = leased

        assert.equal(
          await store.steps.open(
            [aStep(leased, { lease: { ...lease, token: lease.token + 1 } })],
            LIMITS,
          ),
          undefined,
        )
        await takeOver(store)
        assert.equal(await store.steps.open([aStep(leased)], LIMITS), undefined)
      },
    },

    {
      name: 'steps of several events share a transaction: those that ran are kept, those without a lease never',
      run: async (open) => {
        const { store, leased, countEffects, writeEffect } = await openLeased(open)
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
        await writeEffect(shared.lend().tx, 'evt_1')

        assert.deepEqual(shared.held, [true, false, true, true])
        assert.deepEqual(
          await shared.commit([{ text: '1' }, undefined, undefined, { text: undefined }]),
          { status: 'committed' },
        )
        assert.equal(await countEffects(), 1)
        assert.deepEqual(
          (await store.steps.list(leased.eventId)).map(({ name }) => name),
          ['write', 'third'],
        )
        assert.deepEqual(await store.steps.list(other.eventId), [])
      },
    },

    {
      name: 'H15: a step cannot be kept twice',
      run: async (open) => {
        const { store, leased, countEffects, writeEffect } = await openLeased(open)
        const first = await openStep(store, aStep(leased))
        await writeEffect(first.lend().tx, 'evt_1')
        await first.commit([{ text: '1' }])

        const outcome = await store.steps
          .open([aStep(leased)], LIMITS)
          .then(async (step) => step?.commit([{ text: '2' }]))
          .catch(() => ({ status: 'refused' }))

        assert.equal(outcome?.status, 'refused')
        assert.equal(await countEffects(), 1)
        assertMatches(await store.steps.list(leased.eventId), [{ result: '1' }])
      },
    },

    {
      name: 'while a step is open its event is not taken from it',
      run: async (open) => {
        const { store, leased, second, countEffects, writeEffect, hasOneWriter } =
          await openLeased(open)
        const other = await second()
        const step = await openStep(store, aStep(leased))
        await writeEffect(step.lend().tx, 'evt_1')

        const sweeping = takeOver(other).catch(() => undefined)
        // SQLite's sweep waits for the writer, and finds a heart that the commit has moved.
        if (!hasOneWriter) await sweeping
        assert.deepEqual(await step.commit([{ text: '1' }]), { status: 'committed' })
        await sweeping

        assert.equal(await countEffects(), 1)
      },
    },

    {
      name: 'what is lent is worth nothing after the step',
      run: async (open) => {
        const { store, leased, writeEffect } = await openLeased(open)
        const step = await openStep(store, aStep(leased))
        const lent = step.lend()
        await step.commit([{ text: undefined }])
        await lent.revoke()

        await assert.rejects(writeEffect(lent.tx, 'evt_1'))
      },
    },

    {
      name: 'a result that is awkward as text comes back as it was',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        const result = JSON.stringify({
          nul: 'a\u0000b',
          quote: `'"\\`,
          dollar: '$$ $1',
          é: '\ud800',
        })
        const name = `it's a "step" \\ {schema} $1`

        const step = await openStep(store, aStep(leased, { name }))
        await step.commit([{ text: result }])

        assertMatches(await store.steps.list(leased.eventId), [{ name, result }])
      },
    },

    {
      name: 'a call is started, then done, and its starts are counted',
      run: async (open) => {
        const { store, leased } = await openLeased(open)

        const [started] = await store.steps.writeCalls([aCall(leased)])
        const [again] = await store.steps.writeCalls([aCall(leased)])
        assertAtLeast(started?.uncertainForMs, 0)
        assertAtLeast(again?.uncertainForMs, 0)
        assertMatches(await store.steps.list(leased.eventId), [
          { kind: 'call', state: 'started', starts: 2, result: undefined },
        ])
        await store.steps.writeCalls([aCall(leased, { change: 'done', result: '"ok"' })])

        assertMatches(await store.steps.list(leased.eventId), [
          { state: 'done', starts: 2, result: '"ok"' },
        ])
      },
    },

    {
      name: 'a call that is done stays done',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        await store.steps.writeCalls([aCall(leased)])
        await store.steps.writeCalls([aCall(leased, { change: 'done', result: '1' })])

        for (const change of ['started', 'restarted', 'refused'] as const)
          assert.deepEqual(await store.steps.writeCalls([aCall(leased, { change })]), [undefined])
        assert.deepEqual(
          await store.steps.writeCalls([aCall(leased, { change: 'done', result: '2' })]),
          [undefined],
        )
        assertMatches(await store.steps.list(leased.eventId), [{ state: 'done', result: '1' }])
      },
    },

    ...['1', undefined].map((result): StoreCase => ({
      name: `a result (${result}) may be written again, by a worker that did not get the answer`,
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        await store.steps.writeCalls([aCall(leased)])
        const [first] = await store.steps.writeCalls([aCall(leased, { change: 'done', result })])
        const [again] = await store.steps.writeCalls([aCall(leased, { change: 'done', result })])

        assert.deepEqual(
          [first, again].map((each) => each !== undefined),
          [true, true],
        )
        assertMatches(await store.steps.list(leased.eventId), [
          { state: 'done', result, starts: 1 },
        ])
      },
    })),

    // A worker that stood still may have the event twice: from before, and leased again by itself.
    {
      name: 'of two attempts that ask together for the same step, only the one with the lease has it',
      run: async (open) => {
        const { store, leased: before } = await openLeased(open)
        await takeOver(store)
        const leased = await leaseOne(store)

        const written = await store.steps.writeCalls([aCall(before), aCall(leased)])
        const place = { position: 2 }
        const opened = await store.steps.open([aStep(before, place), aStep(leased, place)], LIMITS)

        assert.deepEqual(
          written.map((each) => each !== undefined),
          [false, true],
        )
        assert.deepEqual(opened?.held, [false, true])
        await opened?.abandon()
        assertMatches(await store.steps.list(leased.eventId), [{ state: 'started', starts: 1 }])
      },
    },

    {
      name: 'calls of many events are written together, and those without a lease are not',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        const stale = { ...leased.lease, token: leased.lease.token + 1 }

        const written = await store.steps.writeCalls([
          aCall(leased, { position: 1 }),
          aCall(leased, { position: 2, name: 'other', lease: stale }),
          aCall(leased, { position: 3, name: 'third' }),
        ])

        assert.deepEqual(
          written.map((each) => each !== undefined),
          [true, false, true],
        )
        assert.deepEqual(
          (await store.steps.list(leased.eventId)).map(({ position }) => position),
          [1, 3],
        )
        await takeOver(store)
        assert.deepEqual(await store.steps.writeCalls([aCall(leased, { change: 'done' })]), [
          undefined,
        ])
      },
    },

    {
      name: 'the next lease says that there are steps',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        assert.equal(leased.hasSteps, false)
        await store.steps.writeCalls([aCall(leased)])
        await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])

        assert.equal((await leaseOne(store)).hasSteps, true)
      },
    },

    {
      name: 'an operator resolves a call of unknown outcome, and no other',
      run: async (open) => {
        const { store, leased } = await openLeased(open)
        await store.steps.writeCalls([aCall(leased)])
        const resolution = { eventId: leased.eventId, handler: undefined, name: 'charge' }
        const happened = { happened: true, result: '"found"' } as const

        const resolve = (more: object, decision: StepResolution['decision'] = happened) =>
          store.steps.resolve({ ...resolution, ...more, decision }, NO_ORDER)
        assert.deepEqual(await resolve({}), { status: 'refused', code: 'EVENT_RUNNING' })
        await store.steps.settle([{ lease: leased.lease, settlement: { state: 'given-back' } }])
        assert.deepEqual(await resolve({ name: 'x' }), { status: 'refused', code: 'STEP_CERTAIN' })
        assertMatches(await resolve({}), { status: 'done' })

        assertMatches(await store.steps.list(leased.eventId), [
          { state: 'done', result: '"found"' },
        ])
        assertMatches(await resolve({}, { happened: false }), { code: 'STEP_CERTAIN' })
      },
    },
  ]),
]

const OTHER = 'worker-2'

const LIMITS = { idleTimeoutMs: 60_000, lockTimeoutMs: 0 }

async function openStep(store: AnyStore, request: OpenStep): Promise<StepTransaction<unknown>> {
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
