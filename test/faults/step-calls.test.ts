/**
 * `step.call` against an outside world that does all that one can do: distinct effects for each key are one
 * wherever it honours keys, and where it does not, nothing happens twice without a person's knowledge.
 */

import { describe, expect, test } from 'vitest'
import { ENGINES } from '../support/faults/fault-database.ts'
import { accept } from '../support/faults/fault-inbox.ts'
import { forSteps } from '../support/faults/fault-sources.ts'
import { openScene, SOON } from '../support/faults/steps-scene.ts'
import { until } from '../support/faults/until.ts'
import { atFirst } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const KEY_LIFETIME_MS = 300

function listKeys(sink: Sink): readonly string[] {
  return [...new Set(sink.list().map(({ key }) => key))]
}

describe.each(ENGINES)('a call of a step, on %s', (engine) => {
  test('whose worker is killed while it is on its way is made again with the same key, and has one effect', async () => {
    const { sink, other, start, takeOver } = await openScene(engine, { answer: atFirst('hang') })
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', steps: [['call', 'charge']] }))
    await sink.untilRequests(1)
    await victim.kill()

    await takeOver()
    await other.untilHappened('event.done', 'evt_1')

    expect(sink.list()).toHaveLength(2)
    expect([...sink.countEffects().values()]).toEqual([1])
  })

  test.each([
    ['cuts the connection', 'cut'],
    ['says that it failed though it did it', { status: 500 }],
    ['answers 409', { status: 409 }],
  ] as const)(
    'to one that %s is made again with the same key, and has one effect',
    async (_what, answer) => {
      const { sink, other, takeOver } = await openScene(engine, { answer: atFirst(answer) })
      await takeOver()

      await accept(other, forSteps({ key: 'evt_1', steps: [['call', 'charge']] }))
      await other.untilHappened('event.done', 'evt_1')

      expect(sink.list()).toHaveLength(2)
      expect([...sink.countEffects().values()]).toEqual([1])
    },
  )

  test('to one that hangs is made again with the same key, and has one effect', async () => {
    const { sink, other, takeOver } = await openScene(engine, { answer: atFirst('hang') })
    await takeOver()

    const steps = [['call', 'charge', { timeoutMs: 300 }]] as const
    await accept(other, forSteps({ key: 'evt_1', steps }))
    await other.untilHappened('event.done', 'evt_1')

    // More than twice where the machine was so busy that an answer came too late.
    expect(sink.list().length).toBeGreaterThanOrEqual(2)
    expect([...sink.countEffects().values()]).toEqual([1])
  })

  test('to one that stores a failure under the key ends as dead, under that one key', async () => {
    const { sink, other, takeOver } = await openScene(engine, {
      storesAnswers: true,
      answer: (_request, count) => ({ status: count === 1 ? 500 : 200 }),
    })
    await takeOver({ retry: { attemptsMax: 3, firstMs: 1, factor: 1 } })

    await accept(other, forSteps({ key: 'evt_1', steps: [['call', 'charge']] }))
    const { reason } = await other.untilHappened('event.dead', 'evt_1')
    await accept(other, forSteps({ key: 'evt_2', steps: [['call', 'charge']] }))
    await other.untilHappened('event.done', 'evt_2')

    expect(reason).toContain('The sink answered 500')
    expect(sink.list().map(({ nth }) => nth)).toEqual([1, 2, 3, 1])
    expect([...sink.countEffects().values()]).toEqual([1, 1])
  })

  test('to one that has forgotten the key by now is not made again: a person decides', async () => {
    const { sink, other, start, takeOver } = await openScene(engine, {
      keyLifetimeMs: KEY_LIFETIME_MS,
      answer: atFirst('hang'),
    })
    const steps = [['call', 'charge', { keyLifetimeMs: KEY_LIFETIME_MS }]] as const
    const victim = await start()
    await accept(other, forSteps({ key: 'evt_1', steps }))
    await sink.untilRequests(1)
    const askedAt = performance.now()
    await victim.kill()
    await until('the key is forgotten', () => performance.now() - askedAt > KEY_LIFETIME_MS + 50)

    await takeOver()
    const { reason } = await other.untilHappened('event.dead', 'evt_1')

    expect(reason).toContain('unknown: the call "charge" was started')
    expect(sink.list()).toHaveLength(1)
    expect([...sink.countEffects().values()]).toEqual([1])
  })

  test('to one that ignores keys may have two effects, which is why reconcile looks first', async () => {
    const { sink, other, takeOver } = await openScene(engine, {
      keys: 'ignored',
      answer: atFirst('cut'),
    })
    await takeOver({
      ...SOON,
      reconcile: (event: { key: string }, { idempotencyKey }: { idempotencyKey: string }) =>
        event.key === 'checked'
          ? { happened: sink.list().some(({ key }) => key === idempotencyKey) }
          : undefined,
    })

    await accept(other, forSteps({ key: 'unchecked', steps: [['call', 'charge']] }))
    await other.untilHappened('event.done', 'unchecked')
    await accept(other, forSteps({ key: 'checked', steps: [['call', 'charge']] }))
    await other.untilHappened('event.done', 'checked')

    // The documented price, and how not to pay it.
    expect([...sink.countEffects().values()]).toEqual([2, 1])
    expect(listKeys(sink)).toHaveLength(2)
  })

  test('to one that says that it is done is believed, whatever it did', async () => {
    const { sink, other, takeOver } = await openScene(engine, { does: () => false })
    await takeOver()

    await accept(other, forSteps({ key: 'evt_1', steps: [['call', 'charge']] }))
    await other.untilHappened('event.done', 'evt_1')

    expect(sink.list()).toHaveLength(1)
    expect([...sink.countEffects().values()]).toEqual([0])
  })
})
