import { describe, expect, test } from 'vitest'
import type { StepContext } from '../../src/work/steps/step-context.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { makeDue } from '../support/step-handlers.ts'
import { startSink } from '../support/sink.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const SOON = { retry: { firstMs: 1, factor: 1 } }
const LATER = { retry: { firstMs: 3_600_000 } }
const WRITE = 'insert into effects (event_key, note) values ($1, $2)'

/** What steps must keep to, on every store. Run by `test/inbox/<store>.test.ts`. */
export function stepRulesContract(store: StoreUnderTest): void {
  describe(`${store.name}: the rules of steps`, () => {
    test('H16: a step that is not the one an earlier attempt took stops the event, and no result is reused', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const ran: string[] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (event, step) => {
        const first = step.attempt === 1 ? 'create order' : 'make order'
        await step.tx(first, async (tx) => {
          ran.push(first)
          await tx.query(WRITE, [event.key, first])
        })
        throw new Error('deployed meanwhile')
      })
      await inbox.start()
      const dead = next('event.dead')

      const { eventId } = await deliver('evt_1')

      expect((await dead).reason).toContain('Step history mismatch at 1')
      expect(ran).toEqual(['create order'])
      expect(await countEffects()).toBe(1)
      const event = await inbox.admin.findEvent(eventId as string)
      expect(event?.failures.map(({ reason }) => reason)).toEqual(['error', 'history'])
    })

    type Steps = (step: StepContext<QueryTx>) => Promise<unknown>
    test.each<readonly [string, number, Steps]>([
      ['left out', 2, (step) => step.tx('a', () => 1)],
      ['of another kind', 2, (step) => step.tx('a', () => 1).then(() => step.call('b', () => 1))],
      ['before another', 1, (step) => step.tx('b', () => 1).then(() => step.tx('a', () => 1))],
      ['new, and not at the end', 1, (step) => step.call('new', () => 1)],
    ])(
      'H16: a deployment in which a step is %s stops the event that is mid-way, at step %i',
      async (_what, at, changed) => {
        const { inbox, another, deliver, next, database } = await openInbox(store)
        const results: unknown[] = []
        inbox.steps('stripe', 'invoice.paid', LATER, async (_event, step) => {
          await step.tx('a', () => 'result of a')
          await step.tx('b', () => 'result of b')
          throw new Error('deployed meanwhile')
        })
        await inbox.start()
        const failed = next('event.failed')
        await deliver('evt_1')
        await failed
        await inbox.stop()

        const deployed = another()
        deployed.steps('stripe', 'invoice.paid', SOON, async (_event, step) => {
          results.push(await changed(step))
        })
        const dead = new Promise<{ reason: string }>((resolve) =>
          deployed.events.on('event.dead', resolve),
        )
        await deployed.start()
        await makeDue(database)

        expect((await dead).reason).toContain(`Step history mismatch at ${at}`)
        // What is left out is noticed at the end, when the others have their own results.
        expect(results).toEqual(_what === 'left out' ? ['result of a'] : [])
      },
    )

    test('two steps of one name stop the event, since they would share a key', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
        await step.call('mail', () => 1)
        await step.call('mail', () => 2)
      })
      await inbox.start()
      const dead = next('event.dead')

      await deliver('evt_1')

      expect((await dead).reason).toContain('two steps named "mail"')
    })

    test('H17: a result that JSON would change is refused when it is returned, and nothing is written', async () => {
      const circular: Record<string, unknown> = {}
      circular['self'] = circular
      const results: readonly [unknown, string][] = [
        [{ list: [undefined] }, 'result.list[0] is undefined'],
        [{ amount: 10n }, 'result.amount is a bigint'],
        [circular, 'result.self is one of the objects that it is in'],
        [{ at: new Date(0) }, 'result.at is a Date'],
        [new Map(), 'result is a Map'],
        [{ share: Number.NaN }, 'result.share is NaN'],
        ['x'.repeat(50_000_000), 'is longer than 1048576 characters'],
      ]
      for (const [result, reason] of results) {
        const { inbox, deliver, next, countEffects } = await openInbox(store)
        inbox.steps('stripe', 'invoice.paid', async (event, step) => {
          await step.tx('write', async (tx) => {
            await tx.query(WRITE, [event.key, 'not kept'])
            return result
          })
        })
        await inbox.start()
        const dead = next('event.dead')

        await deliver('evt_1')

        expect((await dead).reason).toContain(reason)
        expect(await countEffects()).toBe(0)
        await inbox.stop()
      }
    })

    test('H17: a call whose result JSON would change has happened, and its event waits for a person', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      let calls = 0
      inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
        await step.call('charge', () => {
          calls += 1
          return { amount: 10n }
        })
      })
      await inbox.start()
      const dead = next('event.dead')

      const { eventId } = await deliver('evt_1')

      expect((await dead).error).toMatchObject({ code: 'RESULT_INVALID' })
      expect(calls).toBe(1)
      const happened = { happened: true, result: { at: new Date(0) } }
      await expect(
        inbox.admin.resolveStep(eventId as string, 'charge', happened),
      ).rejects.toMatchObject({ code: 'RESULT_INVALID' })
      expect(await inbox.admin.listSteps(eventId as string)).toMatchObject([{ state: 'started' }])
    })

    // A step that only writes returns nothing, and a name from a payload may have any character in it: neither
    // is lost in JSON, so neither is refused.
    test('H17: what JSON can hold comes back as it was: NUL, lone surrogates, nothing', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      const awkward = { nul: 'a\u0000b', lone: '\ud800', deep: [[['é', null, -1.5e300]]] }
      const seen: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', SOON, async (_event, step) => {
        seen.push(await step.tx('a', () => awkward), await step.call('b', () => awkward))
        seen.push(await step.tx('c', () => undefined))
        if (step.attempt === 1) throw new Error('again')
      })
      await inbox.start()
      const done = next('event.done')

      await deliver('evt_1')
      await done

      expect(seen).toEqual([awkward, awkward, undefined, awkward, awkward, undefined])
    })

    test('H18: a step that waits for an answer from outside in its transaction is ended, with advice', async () => {
      const sink = await startSink({ answer: () => 'hang' })
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const options = { retry: { attemptsMax: 1 }, txTimeoutMs: 1_500 }
      inbox.steps('stripe', 'invoice.paid', options, async (event, step) => {
        await step.tx('ask', async (tx) => {
          await tx.query(WRITE, [event.key, 'not kept'])
          await fetch(sink.url, { method: 'POST' })
        })
      })
      await inbox.start()
      const dead = next('event.dead')

      await deliver('evt_1')

      expect((await dead).reason).toContain('belongs in the outbox (send) or in a step.call')
      // The request is not taken back, and may still be on its way.
      await expect.poll(() => sink.list()).toHaveLength(1)
      expect(await countEffects()).toBe(0)
    })
  })
}
