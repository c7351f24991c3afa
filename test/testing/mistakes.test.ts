import { describe, expect, onTestFinished, test } from 'vitest'
import { stripe } from '../../src/providers/index.ts'
import type {} from '../../src/testing/runners/vitest.ts'
import {
  crashAt,
  expectDead,
  expectDone,
  expectEffectOnce,
  expectMadeOnce,
  expectSentOnce,
  hookonceMatchers,
  outOfOrder,
  testInbox,
} from '../../src/testing/index.ts'
import type { TestInbox } from '../../src/testing/index.ts'

expect.extend(hookonceMatchers)

const LEDGER = 'create table ledger (invoice text)'

/** Deliberate mistakes, as one finds them in services, and what the kit says of each. */
describe('the kit catches', () => {
  test('a handler that writes on a connection of its own', async () => {
    const make = async () => {
      const t: TestInbox<{ stripe: typeof stripe }> = await testInbox({
        sources: { stripe },
        setup: LEDGER,
        handlers: (inbox) =>
          inbox.on('stripe', 'invoice.paid', async (event) => {
            // As a service does that writes through its own pool.
            await t.execute('insert into ledger values (?)', [event.key])
          }),
      })
      return t
    }

    const caught = crashAt.each(make, async (t) => {
      await t.deliver('stripe', 'invoice.paid')
      await t.drain()
      await expectEffectOnce(t, 'select * from ledger')
    })

    await expect(caught).rejects.toThrow(
      /dies at "after-handler"[^]*there 2 times, and should be once[^]*not written through `tx`[^]*Do: write through the `tx`/,
    )
  })

  test('the same handler is fine with `tx`', async () => {
    const make = () =>
      testInbox({
        sources: { stripe },
        setup: LEDGER,
        handlers: (inbox) =>
          inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
            await tx.query('insert into ledger values (?)', [event.key])
          }),
      })

    await crashAt.each(make, async (t) => {
      await t.deliver('stripe', 'invoice.paid')
      await t.drain()
      await expectEffectOnce(t, 'select * from ledger')
    })
  })

  test.each([
    [
      'in a step, without its key',
      'keyless',
      /once without its idempotency key[^]*hand on the `idempotencyKey`/i,
    ],
    ['in no step, and without a key', 'stepless', /in no step\.call[^]*Do: make it in `step\.call/],
  ] as const)('a fetch %s', async (_name, mistake, said) => {
    const t = await testInbox({
      sources: { stripe },
      fetch: () => new Response('{}'),
      handlers: (inbox) =>
        inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
          const refund = () => fetch('https://api.example.com/refunds', { method: 'POST' })
          if (mistake === 'stepless') await refund()
          else await step.call('refund', () => refund().then(({ status }) => status))
        }),
    })
    onTestFinished(() => t.close())

    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    expect(() => expectMadeOnce(t.calls())).toThrow(said)
    expect(() => expect(t.calls()).toHaveBeenMadeOnce()).toThrow(said)
  })

  test('a key that is another one after a crash', async () => {
    let made = 0
    const t = await testInbox({
      sources: { stripe },
      handlers: (inbox, { outside }) =>
        inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
          await step.call('refund', () => outside('refunds', `made-up-${(made += 1)}`))
        }),
    })
    onTestFinished(() => t.close())
    t.crashAt('after-call')

    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    expect(() => expect(t.calls('refunds')).toHaveBeenMadeOnce()).toThrow(
      /with 2 keys[^]*made-up-1[^]*made-up-2[^]*made up anew in each run/,
    )
  })

  test('nothing where the key is handed on, in a header, in the body, and to what stands for a service', async () => {
    const t = await testInbox({
      sources: { stripe },
      fetch: () => new Response('{}'),
      handlers: (inbox, { outside }) =>
        inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
          await step.call('header', async ({ idempotencyKey }) => {
            const headers = { 'idempotency-key': idempotencyKey }
            await fetch('https://api.example.com/a', { method: 'POST', headers })
          })
          await step.call('body', async ({ idempotencyKey }) => {
            const body = JSON.stringify({ request_id: idempotencyKey })
            await fetch('https://api.example.com/b', { method: 'POST', body })
            await fetch('https://api.example.com/b/state')
          })
          await step.call('service', ({ idempotencyKey }) => outside('mailer', idempotencyKey))
        }),
    })
    onTestFinished(() => t.close())
    t.crashAt('after-call', { nth: 2 })

    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    for (const step of ['header', 'body', 'service']) expect(t.calls(step)).toHaveBeenMadeOnce()
    expect(t.calls('POST https://api.example.com/b')).toHaveLength(2)
  })

  test('an add that nothing guards, where the events come in another order', async () => {
    const make = () =>
      testInbox({
        sources: { stripe },
        setup: 'create table accounts (id text, cents integer)',
        handlers: (inbox) => {
          inbox.on('stripe', 'customer.subscription.deleted', async (event, { tx }) => {
            await tx.query('insert into accounts values (?, 0)', [event.payload.data.object['id']])
          })
          inbox.on('stripe', 'invoice.paid', async (_event, { tx }) => {
            await tx.query('update accounts set cents = cents + 4200')
          })
        },
      })

    await expect(
      outOfOrder(
        make,
        [
          ['stripe', 'customer.subscription.deleted'],
          ['stripe', 'invoice.paid'],
        ],
        (t) => t.rows('select cents from accounts'),
      ),
    ).rejects.toThrow(
      /makes a difference[^]*cents: 4200[^]*cents: 0[^]*an upsert in place of an update/,
    )
  })

  test('what has not happened at all, and says where to look', async () => {
    const t = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.on('stripe', '*', () => {
          throw new Error('the ledger is closed')
        }),
    })
    onTestFinished(() => t.close())
    const delivered = await t.deliver('stripe', 'invoice.paid')
    await t.idle()

    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /is not there[^]*the ledger is closed[^]*Do: see that the event was delivered/,
    )
    await expect(expectDone(delivered)).rejects.toThrow(
      /should be done and is ready[^]*t\.drain\(\)/,
    )
    await expect(expectDead(delivered)).rejects.toThrow('should be dead and is ready')
    expect(() => expectSentOnce(t.messages())).toThrow('sent 0 times')
    expect(() => expectMadeOnce(t.calls())).toThrow('was not made')
    await t.drain()
    await expectDead(delivered, /closed/)
  })

  test('a test that delivers nothing', async () => {
    const make = () => testInbox({ sources: { stripe }, handlers: () => undefined })

    await expect(crashAt.each(make, () => undefined)).rejects.toThrow('No event came to any point')
    await expect(
      crashAt.each(make, () => {
        throw new Error('as it is')
      }),
    ).rejects.toThrow('Already without a crash:\nas it is')
  })
})
