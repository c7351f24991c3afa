import { expect, test } from 'vitest'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import { LATER, makeDue, SOON, WRITE } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** Step handlers and the others, for one type. */
export function stepsBesideHandlersContract(store: StoreUnderTest): void {
  test('a transactional handler of the same type runs as a step of its own, once', async () => {
    const { inbox, deliverUntil, countEffects } = await openInbox(store)
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

    await deliverUntil('evt_1', 'event.done')

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
    const all = untilDone(inbox, 60)
    open()
    await all
  })

  test('an event whose type has a transactional handler by now is run by it', async () => {
    const { inbox, another, deliverUntil, countEffects, database } = await openInbox(store)
    inbox.steps('stripe', 'invoice.paid', LATER, () => {
      throw new Error('not yet')
    })
    await inbox.start()
    await deliverUntil('evt_1', 'event.failed')
    await inbox.stop()
    const later = another()
    later.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, 'by on']))
    const done = new Promise((resolve) => later.events.on('event.done', resolve))
    await later.start()

    await makeDue(database)
    await done

    expect(await countEffects('evt_1')).toBe(1)
  })

  test('a worker that is stopped gives back what does not end, without a lost attempt', async () => {
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
    const released = next('lease.given-back')
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
    const { inbox, deliverUntil, next } = await openInbox(store)
    // Long enough for the call to be started, on a machine that is busy with other tests.
    const options = { ...SOON, timeoutMs: 1_500 }
    let aborted = false
    let hasHung = false
    inbox.steps('stripe', 'invoice.paid', options, async (_event, step) => {
      if (hasHung) return
      await step.call('hang', ({ signal }) => {
        hasHung = true
        signal.addEventListener('abort', () => (aborted = true))
        return new Promise<void>(() => undefined)
      })
    })
    await inbox.start()
    const failed = next('event.failed')

    const dead = await deliverUntil('evt_1', 'event.dead')

    expect((await failed).reason).toBe('timeout')
    expect(aborted).toBe(true)
    // The second attempt takes no step where the first has started one.
    expect(dead.reason).toContain('Step history mismatch at 1')
  })

  test('a step that runs out of its own time is told by its signal, and the handler may go on', async () => {
    const { inbox, deliverUntil, countEffects } = await openInbox(store)
    const aborted: string[] = []
    const hang = (name: string, signal: AbortSignal) =>
      new Promise<void>(() => signal.addEventListener('abort', () => aborted.push(name)))
    const options = { txTimeoutMs: 3_000 }
    inbox.steps('stripe', 'invoice.paid', options, async (event, step) => {
      const call = step.call('hang', { timeoutMs: 20 }, ({ signal }) => hang('call', signal))
      await expect(call).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' })
      const slow = step.tx('slow', (_tx, { signal }) => hang('tx', signal))
      await expect(slow).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' })
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'written'])
      })
      expect(step.signal.aborted).toBe(false)
    })
    await inbox.start()

    await deliverUntil('evt_1', 'event.done')

    expect(aborted).toEqual(['call', 'tx'])
    expect(await countEffects('evt_1')).toBe(1)
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
