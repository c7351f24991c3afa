import { describe, expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { StepContext } from '../../src/work/step-context.ts'
import { notDone, permanent, retryAfter, skip } from '../../src/work/verdicts.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { eitherWay, makeDue } from '../support/make-due.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const SOON = { retry: { firstMs: 1, factor: 1 } }
const LATER = { retry: { firstMs: 3_600_000 } }
const WRITE = 'insert into effects (event_key, note) values ($1, $2)'

/** What step handlers can rely on, on every store. Run by `test/inbox/<store>.test.ts`. */
export function stepsContract(store: StoreUnderTest): void {
  describe(`${store.name}: step handlers`, () => {
    test('run their steps in order, each with what the one before returned', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const seen: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        const order = await step.tx('create order', async (tx) => {
          await tx.query(WRITE, [event.key, 'order'])
          return { id: 7 }
        })
        const label = await step.call('buy label', ({ idempotencyKey }) => ({
          of: order.id,
          key: idempotencyKey,
        }))
        await step.tx('ship', async (tx) => {
          await tx.query(WRITE, [event.key, 'shipped'])
          seen.push(label, step.attempt, step.token)
        })
      })
      await inbox.start()
      const done = next('event.done')

      const { eventId } = await deliver('evt_1')
      await done

      expect(seen).toEqual([
        { of: 7, key: expect.stringMatching(/^ho_/) as string },
        1,
        expect.any(Number),
      ])
      expect(await countEffects('evt_1')).toBe(2)
      expect(
        (await inbox.admin.listSteps(eventId as string)).map(({ kind, name, state }) => [
          kind,
          name,
          state,
        ]),
      ).toEqual([
        ['tx', 'create order', 'done'],
        ['call', 'buy label', 'done'],
        ['tx', 'ship', 'done'],
      ])
    })

    test('a finished step returns what it returned before, and does not run again', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const calls: string[] = []
      const results: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (event, step) => {
        const written = await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'once'])
          return { note: 'once', missing: undefined }
        })
        const nothing = await step.call('call', ({ idempotencyKey }) => {
          calls.push(idempotencyKey)
        })
        results.push(written, nothing)
        if (step.attempt < 3) throw new Error('not yet')
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(calls).toHaveLength(1)
      expect(results).toEqual([
        { note: 'once' },
        undefined,
        { note: 'once' },
        undefined,
        { note: 'once' },
        undefined,
      ])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a call that fails is made again with the same key, and says how often it was started', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      const seen: [string, number][] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (_event, step) => {
        await step.call('charge', ({ idempotencyKey, starts }) => {
          seen.push([idempotencyKey, starts])
          if (seen.length < 3) throw new Error('timed out')
        })
        expect(step.idempotencyKey('charge')).toBe(seen[0]?.[0])
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(new Set(seen.map(([key]) => key)).size).toBe(1)
      expect(seen.map(([, starts]) => starts)).toEqual([1, 2, 3])
    })

    test('a call is known to be started while it runs', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      const seen: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await step.call('charge', async () => {
          const steps = await inbox.admin.listSteps(event.id)
          seen.push(...steps.map(({ name, state }) => [name, state]))
        })
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(seen).toEqual([['charge', 'started']])
    })

    test('two events, and two steps of one event, have keys of their own', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      const keys = new Set<string>()
      inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
        for (const name of ['a', 'b'])
          await step.call(name, ({ idempotencyKey }) => void keys.add(idempotencyKey))
      })
      await inbox.start()
      for (const key of ['evt_1', 'evt_2']) {
        const done = next('event.done')
        await deliver(key)
        await done
      }

      expect(keys.size).toBe(4)
    })

    test('a step that throws writes nothing', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', SOON, async (event, step) => {
        await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'kept'])
          if (step.attempt === 1) throw new Error('not yet')
        })
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(await countEffects()).toBe(1)
    })

    test('an error that the handler catches is its own business', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        const mailed = await step
          .call('mail', () => Promise.reject(new Error('no such address')))
          .then(
            () => true,
            () => false,
          )
        await step.tx('write', (tx) => tx.query(WRITE, [event.key, String(mailed)]).then(() => 1))
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(await countEffects('evt_1')).toBe(1)
    })

    test('a step that nobody waits for is waited for, and its failure is the attempt’s', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', SOON, (event, step) => {
        void step.call('call', async () => {
          await Promise.resolve()
          if (step.attempt === 1) throw new Error('too early')
        })
        void step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'late'])
        })
      })
      await inbox.start()
      const failed = next('event.failed')
      const done = next('event.done')

      await deliver('evt_1')

      expect((await failed).error.message).toBe('too early')
      await done
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('steps that are begun together run side by side', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const inside: string[] = []
      let open: () => void = () => undefined
      const both = new Promise<void>((resolve) => (open = resolve))
      const meet = async (name: string) => {
        inside.push(name)
        if (inside.length === 2) open()
        await both
      }
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await Promise.all([
          step.call('a', () => meet('a')),
          step.call('b', () => meet('b')),
          step.tx('c', async (tx) => {
            await tx.query(WRITE, [event.key, 'c'])
          }),
        ])
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(inside.sort()).toEqual(['a', 'b'])
      expect(await countEffects('evt_1')).toBe(1)
    })

    test('skip, permanent and retryAfter mean what they mean in other handlers', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      inbox.steps('stripe', '*', async (event, step) => {
        if (event.type === 'invoice.paid') return skip('not ours')
        if (event.type === 'invoice.voided') throw permanent('never')
        if (step.attempt === 1) throw retryAfter(1)
        return undefined
      })
      await inbox.start()
      const skipped = next('event.skipped')
      const dead = next('event.dead')
      const done = next('event.done')

      await deliver('evt_1')
      await deliver('evt_2', { type: 'invoice.voided' })
      await deliver('evt_3', { type: 'invoice.created' })

      expect((await skipped).reason).toBe('not ours')
      expect((await dead).reason).toContain('never')
      expect((await done).attempt).toBe(2)
    })

    callsOfUnknownOutcome(store)
    besideOthers(store)
    sends(store)
  })
}

/** An outside call that an earlier attempt has started, and of which nobody knows whether it happened. */
function callsOfUnknownOutcome(store: StoreUnderTest): void {
  test('past the lifetime of the key the event stops as unknown, and the call is not made', async () => {
    const { inbox, deliver, next, database } = await openInbox(store)
    const starts: number[] = []
    failFirstCall(inbox, starts)
    await inbox.start()
    const failed = next('event.failed')
    const dead = next('event.dead')

    const { eventId } = await deliver('evt_1')
    await failed
    await moveStarts(database, 25 * 3_600_000)
    await makeDue(database)

    expect((await dead).reason).toContain('unknown: the call "charge" was started 25.0 hours ago')
    expect((await dead).error).toMatchObject({ code: 'STEP_UNKNOWN' })
    expect(starts).toEqual([1])
    const event = await inbox.admin.findEvent(eventId as string)
    expect(event?.failures.at(-1)?.reason).toBe('unknown')
  })

  test('an operator says that it happened, and the step returns what they say', async () => {
    const { inbox, deliver, next, database } = await openInbox(store)
    const starts: number[] = []
    const returned: unknown[] = []
    failFirstCall(inbox, starts, returned)
    await inbox.start()
    const failed = next('event.failed')
    const dead = next('event.dead')
    const { eventId } = await deliver('evt_1')
    await failed
    await moveStarts(database, 25 * 3_600_000)
    await makeDue(database)
    await dead
    const done = next('event.done')

    const isSaid = await inbox.admin.resolveStep(eventId as string, 'charge', {
      happened: true,
      result: { charge: 'ch_1' },
    })
    await inbox.admin.retry(eventId as string)
    await done

    expect(isSaid).toBe(true)
    expect(starts).toEqual([1])
    expect(returned).toEqual([{ charge: 'ch_1' }])
    expect(await inbox.admin.resolveStep(eventId as string, 'charge', { happened: false })).toBe(
      false,
    )
  })

  test('an operator says that it did not happen, and it is made', async () => {
    const { inbox, deliver, next, database } = await openInbox(store)
    const starts: number[] = []
    failFirstCall(inbox, starts)
    await inbox.start()
    const failed = next('event.failed')
    const dead = next('event.dead')
    const { eventId } = await deliver('evt_1')
    await failed
    await moveStarts(database, 25 * 3_600_000)
    await makeDue(database)
    await dead
    const done = next('event.done')

    await inbox.admin.resolveStep(eventId as string, 'charge', { happened: false })
    await inbox.admin.retry(eventId as string)
    await done

    expect(starts).toEqual([1, 2])
  })

  test('a call that was answered with "not done" leaves no doubt, however long ago', async () => {
    const { inbox, deliver, next, database } = await openInbox(store)
    const starts: number[] = []
    inbox.steps('stripe', 'invoice.paid', LATER, async (_event, step) => {
      await step.call('charge', () => {
        starts.push(step.attempt)
        if (step.attempt === 1) throw notDone('503')
      })
    })
    await inbox.start()
    const failed = next('event.failed')
    const done = next('event.done')

    await deliver('evt_1')
    await failed
    await moveStarts(database, 25 * 3_600_000)
    await makeDue(database)
    await done

    expect(starts).toEqual([1, 2])
  })

  test.each([
    ['happened', { happened: true, result: { charge: 'ch_found' } }, [1], { charge: 'ch_found' }],
    ['did not happen', { happened: false }, [1, 2], 2],
    ['nothing', undefined, [1, 2], 2],
  ] as const)(
    'reconcile is asked before a call is made again; it found: %s',
    async (found, reconciled, started, result) => {
      const { inbox, deliver, next } = await openInbox(store)
      const starts: number[] = []
      const asked: unknown[] = []
      const returned: unknown[] = []
      inbox.steps(
        'stripe',
        'invoice.paid',
        {
          ...SOON,
          reconcile: (event, step) => {
            asked.push([event.key, step.name, step.starts, step.idempotencyKey])
            return reconciled
          },
        },
        async (_event, step) => {
          returned.push(
            await step.call('charge', () => {
              starts.push(step.attempt)
              if (step.attempt === 1) throw new Error('timed out')
              return step.attempt
            }),
          )
        },
      )
      await inbox.start()
      const uncertain = next('step.uncertain')
      const done = next('event.done')

      await deliver('evt_1')

      expect(await uncertain).toMatchObject({ step: 'charge', starts: 1, found })
      await done
      expect(asked).toEqual([['evt_1', 'charge', 1, expect.stringMatching(/^ho_/) as string]])
      expect(starts).toEqual(started)
      expect(returned).toEqual([result])
    },
  )
}

function failFirstCall(
  inbox: InboxUnderTest['inbox'],
  starts: number[],
  returned: unknown[] = [],
): void {
  inbox.steps('stripe', 'invoice.paid', LATER, async (_event, step) => {
    returned.push(
      await step.call('charge', () => {
        starts.push(starts.length + 1)
        if (starts.length === 1) throw new Error('timed out')
      }),
    )
  })
}

/** As if the steps had been started so much earlier. */
async function moveStarts({ query }: InboxUnderTest['database'], earlierMs: number): Promise<void> {
  await eitherWay(
    query,
    `update hookonce.steps set started_at = started_at - ${earlierMs} * interval '1 millisecond'`,
    `update hookonce_steps set started_at = started_at - ${earlierMs}`,
  )
}

/** Step handlers and the others, for one type. */
function besideOthers(store: StoreUnderTest): void {
  test('a transactional handler of the same type runs as a step of its own, once', async () => {
    const { inbox, deliver, next, countEffects } = await openInbox(store)
    const ran: string[] = []
    inbox.on('stripe', 'invoice.paid', { name: 'ledger' }, async (event, { tx, attempt }) => {
      ran.push(`ledger ${attempt}`)
      await tx.query(WRITE, [event.key, 'ledger'])
    })
    inbox.on('stripe', 'invoice.*', { name: 'ping', guarantee: 'at-least-once' }, () => {
      ran.push('ping')
    })
    inbox.steps('stripe', 'invoice.paid', { ...SOON, name: 'ship' }, async (_event, step) => {
      ran.push(`ship ${step.attempt}`)
      if (step.attempt === 1) throw new Error('not yet')
    })
    await inbox.start()
    const done = next('event.done')

    await deliver('evt_1')
    await done

    expect(ran).toEqual(['ledger 1', 'ping', 'ship 1', 'ship 2'])
    expect(await countEffects('evt_1')).toBe(1)
  })

  test('transactional events behind slow step events do not wait for them', async () => {
    const { inbox, deliver, next, countEffects } = await openInbox(store, {
      worker: { stepsMax: 2 },
    })
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    inbox.steps('stripe', 'invoice.created', (_event, step) => step.call('wait', () => gate))
    inbox.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, 'paid']))
    const paid = next('event.done', ({ key }) => key === 'paid')
    for (let i = 0; i < 60; i += 1) await deliver(`slow_${i}`, { type: 'invoice.created' })
    await deliver('paid')

    await inbox.start()
    await paid

    expect(await countEffects('paid')).toBe(1)
    const all = new Promise<void>((resolve) => {
      let count = 0
      inbox.events.on('event.done', () => {
        count += 1
        if (count === 60) resolve()
      })
    })
    open()
    await all
  })

  test('an event whose type has a transactional handler by now is run by it', async () => {
    const { inbox, another, deliver, next, countEffects, database } = await openInbox(store)
    inbox.steps('stripe', 'invoice.paid', LATER, () => {
      throw new Error('not yet')
    })
    await inbox.start()
    const failed = next('event.failed')
    await deliver('evt_1')
    await failed
    await inbox.stop()
    const later = another()
    later.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, 'by on']))
    const done = new Promise((resolve) => later.events.on('event.done', resolve))
    await later.start()

    await makeDue(database)
    await done

    expect(await countEffects('evt_1')).toBe(1)
  })

  test('a worker that is stopped lets go of what does not end, without a lost attempt', async () => {
    const { inbox, another, deliver, next, countEffects } = await openInbox(store, {
      worker: { stopGraceMs: 50 },
    })
    let reached: () => void = () => undefined
    const inside = new Promise<void>((resolve) => (reached = resolve))
    inbox.steps('stripe', 'invoice.paid', (_event, step) =>
      step.call('wait', () => {
        reached()
        return new Promise<void>(() => undefined)
      }),
    )
    await inbox.start()
    const released = next('lease.released')
    await deliver('evt_1')
    await inside
    await inbox.stop()
    await released

    const other = another()
    const attempts: number[] = []
    other.steps('stripe', 'invoice.paid', async (event, step) => {
      attempts.push(step.attempt)
      await step.call('wait', () => undefined)
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'done'])
      })
    })
    const done = new Promise((resolve) => other.events.on('event.done', resolve))
    await other.start()
    await done

    expect(attempts).toEqual([1])
    expect(await countEffects('evt_1')).toBe(1)
  })

  test('a handler that runs out of time is told by its signal, and runs again', async () => {
    const { inbox, deliver, next } = await openInbox(store)
    const options = { ...SOON, timeoutMs: 30 }
    let aborted = false
    inbox.steps('stripe', 'invoice.paid', options, async (_event, step) => {
      if (step.attempt > 1) return
      await step.call('hang', ({ signal }) => {
        signal.addEventListener('abort', () => (aborted = true))
        return new Promise<void>(() => undefined)
      })
    })
    await inbox.start()
    const failed = next('event.failed')
    const dead = next('event.dead')

    await deliver('evt_1')

    expect((await failed).reason).toBe('timeout')
    expect(aborted).toBe(true)
    // The second attempt takes no step where the first has started one.
    expect((await dead).reason).toContain('Step history mismatch at 1')
  })

  test('what a step handler returns answers the sender of a source that waits for it', async () => {
    const { inbox, deliver } = await openInbox(store, { source: { acknowledge: 'processed' } })
    inbox.steps('stripe', 'invoice.paid', async (_event, step) => ({
      order: await step.tx('order', () => 7),
    }))
    await inbox.start()

    const answer = await deliver('evt_1')

    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer)).toContain('order')
  })
}

function sends(store: StoreUnderTest): void {
  test('messages are written once, by step.send and inside a step.tx, each with a key of its own', async () => {
    const { inbox, deliver, next, database } = await openInbox(store, {
      destinations: [destination('mail', () => undefined)],
      relay: false,
    })
    inbox.steps('stripe', 'invoice.paid', SOON, async (event, step: StepContext<QueryTx>) => {
      await step.send('mail', { to: event.key })
      await step.tx('write', async (tx, { send }) => {
        await tx.query(WRITE, [event.key, 'with mail'])
        await send('mail', { n: 1 })
        await send('mail', { n: 2 })
        await send('mail', { n: 3 }, { key: 'third' })
      })
      await step.send('mail', { last: true })
      if (step.attempt < 3) throw new Error('again')
    })
    await inbox.start()
    const done = next('event.done')

    await deliver('evt_1')
    await done

    const rows = await database
      .query('select key from hookonce.messages')
      .catch(() => database.query('select key from hookonce_messages'))
    expect(rows).toHaveLength(5)
    expect(new Set(rows.map(({ key }) => String(key))).size).toBe(5)
  })

  test('a message of a step that throws is not written', async () => {
    const { inbox, deliver, next, database } = await openInbox(store, {
      destinations: [destination('mail', () => undefined)],
      relay: false,
    })
    inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
      await step.tx('write', async (_tx, { send }) => {
        await send('mail', {})
        throw permanent('no')
      })
    })
    await inbox.start()
    const dead = next('event.dead')

    await deliver('evt_1')
    await dead

    const rows = await database
      .query('select key from hookonce.messages')
      .catch(() => database.query('select key from hookonce_messages'))
    expect(rows).toEqual([])
  })
}
