import { expect, test } from 'vitest'
import { notDone } from '../../src/model/handler-results.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { LATER, makeDue, moveStarts, SOON } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** An outside call that an earlier attempt has started. Whether it happened is not known. */
export function uncertainCallsContract(store: StoreUnderTest): void {
  test('past the lifetime of the key the event stops as unknown, and the call is not made', async () => {
    const { inbox, dead, starts } = await stopInDoubt(store)

    expect(dead.reason).toContain('unknown: the call "charge" was started 25.0 hours ago')
    expect(dead.error).toMatchObject({ code: 'STEP_UNKNOWN' })
    expect(starts).toEqual([1])
    const event = await inbox.admin.findEvent(dead.eventId)
    expect(event?.failures.at(-1)?.reason).toBe('unknown')
  })

  test('with no lifetime a call is made once, and not again whatever the clock says', async () => {
    const { inbox, deliver, next, database } = await openInbox(store)
    const calls: string[] = []
    inbox.steps('stripe', 'invoice.paid', LATER, async (event, step) => {
      await step.call('text', { keyLifetimeMs: 0 }, () => {
        calls.push(event.key)
        if (event.key === 'evt_lost') throw new Error('timed out')
      })
    })
    await inbox.start()
    const answered = next('event.done')
    await deliver('evt_answered')
    await answered
    const stopped = next('event.dead')
    const failed = next('event.failed')
    await deliver('evt_lost')
    await failed

    // As if the clock of the database had been set back by an hour since.
    await moveStarts(database, -3_600_000)
    await makeDue(database)

    expect((await stopped).reason).toMatch(/^HookonceError: unknown: .*it is not to be made twice/)
    expect(calls).toEqual(['evt_answered', 'evt_lost'])
  })

  test('an operator says that it happened, and the step returns what they say', async () => {
    const { inbox, next, dead, starts, returned } = await stopInDoubt(store)
    const { eventId } = dead
    const done = next('event.done')

    const isSaid = await inbox.admin.resolveStep(eventId, 'charge', {
      happened: true,
      result: { charge: 'ch_1' },
    })
    await inbox.admin.retry(eventId)
    await done

    expect(isSaid).toMatchObject({ status: 'done' })
    expect(starts).toEqual([1])
    expect(returned).toEqual([{ charge: 'ch_1' }])
    expect(await inbox.admin.resolveStep(eventId, 'charge', { happened: false })).toMatchObject({
      code: 'STEP_CERTAIN',
    })
  })

  test('an operator says that it did not happen, and it is made', async () => {
    const { inbox, next, dead, starts } = await stopInDoubt(store)
    const { eventId } = dead
    const done = next('event.done')

    await inbox.admin.resolveStep(eventId, 'charge', { happened: false })
    await inbox.admin.retry(eventId)
    await done

    expect(starts).toEqual([1, 2])
  })

  test('a call that was answered with "not done" leaves no doubt, however long ago', async () => {
    const { inbox, deliverUntil, next, database } = await openInbox(store)
    const starts: number[] = []
    inbox.steps('stripe', 'invoice.paid', LATER, async (_event, step) => {
      await step.call('charge', () => {
        starts.push(step.attempt)
        if (step.attempt === 1) throw notDone('503')
      })
    })
    await inbox.start()
    const done = next('event.done')

    await deliverUntil('evt_1', 'event.failed')
    await comeBackTooLate(database)
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
      const { inbox, deliverUntil, next } = await openInbox(store)
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

      await deliverUntil('evt_1', 'event.done')

      expect(await uncertain).toMatchObject({ step: 'charge', starts: 1, found })
      expect(asked).toEqual([['evt_1', 'charge', 1, expect.stringMatching(/^ho_/) as string]])
      expect(starts).toEqual(started)
      expect(returned).toEqual([result])
    },
  )
}

/** A call that fails without an answer, and whose event comes back after its key has lost its meaning. */
async function stopInDoubt(store: StoreUnderTest) {
  const opened = await openInbox(store)
  const { inbox, deliverUntil, next, database } = opened
  const starts: number[] = []
  const returned: unknown[] = []
  inbox.steps('stripe', 'invoice.paid', LATER, async (_event, step) => {
    returned.push(
      await step.call('charge', () => {
        starts.push(starts.length + 1)
        if (starts.length === 1) throw new Error('timed out')
      }),
    )
  })
  await inbox.start()
  const stopped = next('event.dead')
  await deliverUntil('evt_1', 'event.failed')
  await comeBackTooLate(database)
  return { ...opened, dead: await stopped, starts, returned }
}

/** As if the call had been started 25 hours ago, and its event were due again. A key lives for 24. */
async function comeBackTooLate(database: InboxUnderTest['database']): Promise<void> {
  await moveStarts(database, 25 * 3_600_000)
  await makeDue(database)
}
