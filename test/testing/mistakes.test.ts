import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { stripe } from '../../src/providers/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
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
import { aSignal } from '../support/a-signal.ts'

expect.extend(hookonceMatchers)

const LEDGER = 'create table ledger (invoice text)'

/** Deliberate mistakes, as one finds them in services, and what the kit says of each. */
describe('the kit catches', () => {
  test('a handler that writes on a connection of its own', async () => {
    const make = async () => {
      const t: TestInbox<{ stripe: typeof stripe }, SqliteTx> = await testInbox({
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

  test('the same mistake in the second of two handlers', async () => {
    const make = async () => {
      const t: TestInbox<{ stripe: typeof stripe }, SqliteTx> = await testInbox({
        sources: { stripe },
        setup: LEDGER,
        handlers: (inbox) => {
          const insert = 'insert into ledger values (?)'
          inbox.on('stripe', 'invoice.paid', async (_event, { tx }) => {
            await tx.query(insert, ['paid'])
          })
          inbox.on('stripe', 'checkout.session.completed', async () => {
            await t.execute(insert, ['completed'])
          })
        },
      })
      return t
    }

    const caught = crashAt.each(make, async (t) => {
      for (const type of ['invoice.paid', 'checkout.session.completed']) {
        await t.deliver('stripe', type)
        await t.drain()
      }
      await expectEffectOnce(t, "select * from ledger where invoice = 'paid'")
      await expectEffectOnce(t, "select * from ledger where invoice = 'completed'")
    })

    await expect(caught).rejects.toThrow(
      /dies the 2nd time that it comes to "after-handler"[^]*there 2 times[^]*invoice: 'completed'[^]*The handler of checkout\.session\.completed evt_\S+ ran 2 times\.[^]*not written through `tx`/,
    )
    await expect(caught).rejects.not.toThrow(/dies at "/)
  })

  test('a test that takes another way each time, so that a death in it is not tried', async () => {
    let runs = 0
    const make = () =>
      testInbox({
        sources: { stripe },
        setup: LEDGER,
        handlers: (inbox) =>
          inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
            await tx.query('insert into ledger values (?)', [event.key])
          }),
      })

    const caught = crashAt.each(make, async (t) => {
      runs += 1
      for (const id of runs === 1 ? ['evt_1', 'evt_2'] : ['evt_1']) {
        await t.deliver('stripe', 'invoice.paid', { id })
        await t.drain()
      }
      await expectEffectOnce(t, "select * from ledger where invoice = 'evt_1'")
    })

    await expect(caught).rejects.toThrow(
      /"after-handler" was not reached for the 2nd time: the test does not take the same way each time\./,
    )
    await expect(caught).rejects.not.toThrow(/dies at "|for the 1st time/)
  })

  test('a test that comes to no point again', async () => {
    let runs = 0
    const make = () => testInbox({ sources: { stripe }, handlers: () => undefined })

    const caught = crashAt.each(make, async (t) => {
      runs += 1
      if (runs === 1) await t.deliver('stripe', 'invoice.paid')
    })

    await expect(caught).rejects.toThrow(/^"before-store" was not reached for the 1st time/)
    await expect(crashAt.each(make, () => undefined)).rejects.toThrow('No event came to any point')
  })

  test('a write on a connection of its own in the second step, which SQLite does not allow', async () => {
    const t: TestInbox<{ stripe: typeof stripe }, SqliteTx> = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
          const insert = 'insert into ledger values (?)'
          await step.tx('first', async (tx) => {
            await tx.query(insert, ['first'])
          })
          await step.tx('second', async () => {
            await t.execute(insert, ['second'])
          })
        }),
    })
    onTestFinished(() => t.close())
    const paid = await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    // It has failed each time, and has kept no other connection from writing.
    await expectDead(paid, 'database is locked')
    await expectEffectOnce(t, "select * from ledger where invoice = 'first'")
    await expect(
      expectEffectOnce(t, "select * from ledger where invoice = 'second'"),
    ).rejects.toThrow(
      /is not there[^]*database is locked[^]*on a connection of its own beside it\?/,
    )
  })

  test('a write on a connection of its own, in a handler that fails once', async () => {
    const t: TestInbox<{ stripe: typeof stripe }, SqliteTx> = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.on('stripe', 'invoice.paid', async (event, { attempt }) => {
          await t.execute('insert into ledger values (?)', [event.key])
          if (attempt === 1) throw new Error('the mail server is down')
        }),
    })
    onTestFinished(() => t.close())
    await t.deliver('stripe', 'invoice.paid', { id: 'evt_1' })
    await t.drain()

    expect(t.crashes()).toEqual([])
    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /Attempt 1 of invoice\.paid evt_1 failed: the mail server is down\n[^]*The handler of invoice\.paid evt_1 ran \d times\.[^]*not written through `tx`[^]*Do: write through the `tx`/,
    )
  })

  test('a write of a step handler in none of its steps', async () => {
    const t: TestInbox<{ stripe: typeof stripe }, SqliteTx> = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.steps('stripe', 'invoice.paid', async (event, step) => {
          await t.execute('insert into ledger values (?)', [event.key])
          await step.call('refund', () => 're_1')
        }),
    })
    onTestFinished(() => t.close())
    t.crashAt('after-call')
    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /died at "after-call"[^]*A step handler begins anew each time[^]*in no `step\.tx`/,
    )
  })

  test('two events that have one effect each, and not one of them twice', async () => {
    const t = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
          await tx.query('insert into ledger values (?)', [event.key])
        }),
    })
    onTestFinished(() => t.close())
    await t.deliver('stripe', 'invoice.paid')
    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    expect(t.runs()).toMatchObject([
      { type: 'invoice.paid', handler: 1, attempt: 1, end: 'returned' },
      { type: 'invoice.paid', handler: 1, attempt: 1, end: 'returned' },
    ])
    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /No handler ran twice for the same event[^]*see how many events were delivered/,
    )
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

  test('a key that is another one after a crash, in the second of two calls', async () => {
    const make = () => {
      let made = 0
      return testInbox({
        sources: { stripe },
        handlers: (inbox, { outside }) =>
          inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
            await step.call('charge', ({ idempotencyKey }) => outside('charges', idempotencyKey))
            await step.call('refund', () => outside('refunds', `made-up-${(made += 1)}`))
          }),
      })
    }

    await expect(
      crashAt.each(make, async (t) => {
        await t.deliver('stripe', 'invoice.paid')
        await t.drain()
        expectMadeOnce(t.calls('charges'))
        expectMadeOnce(t.calls('refunds'))
      }),
    ).rejects.toThrow(
      /dies the 2nd time that it comes to "after-call"[^]*with 2 keys[^]*made-up-1[^]*made-up-2[^]*made up anew in each run/,
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

  test('a message to two destinations, though its key is the same', async () => {
    const t = await testInbox({
      sources: { stripe },
      destinations: [destination('mail', () => undefined), destination('chat', () => undefined)],
      handlers: (inbox) =>
        inbox.on('stripe', 'invoice.paid', async (event, { send }) => {
          await send('mail', { paid: event.key }, { key: 'paid' })
          await send('chat', { paid: event.key }, { key: 'paid' })
        }),
    })
    onTestFinished(() => t.close())
    await t.deliver('stripe', 'invoice.paid')
    await t.drain()

    expectSentOnce(t.messages('mail'))
    expectSentOnce(t.messages('chat'))
    expect(() => expectSentOnce(t.messages())).toThrow(
      /sent 2 times[^]*1\. to mail, key paid[^]*2\. to chat, key paid[^]*several destinations/,
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
      /should be done and is ready[^]*Do: call t\.idle\(\)[^]*t\.drain\(\)/,
    )
    await expect(expectDead(delivered)).rejects.toThrow('should be dead and is ready')
    expect(() => expectSentOnce(t.messages())).toThrow('sent 0 times')
    expect(() => expectMadeOnce(t.calls())).toThrow('was not made')
    await t.drain()
    await expectDead(delivered, /closed/)
  })

  test('a type that no handler is for', async () => {
    const t = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) => inbox.on('stripe', 'invoice.paid', () => undefined),
    })
    onTestFinished(() => t.close())
    const delivered = await t.deliver('stripe', 'checkout.session.completed')
    await t.drain()

    await expect(expectDone(delivered)).rejects.toThrow(
      /is unhandled\n[^]*Do: register one in `handlers`: inbox\.on\("stripe", "checkout\.session\.completed", …\)/,
    )
    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /event\.unhandled checkout\.session\.completed/,
    )
  })

  test('a write that its handler does not wait for', async () => {
    const ended = aSignal()
    let late: Promise<unknown> | undefined
    const t = await testInbox({
      sources: { stripe },
      setup: LEDGER,
      handlers: (inbox) =>
        inbox.on('stripe', 'invoice.paid', (event, { tx }) => {
          late = ended.given.then(() => tx.query('insert into ledger values (?)', [event.key]))
        }),
    })
    onTestFinished(() => t.close())
    await t.deliver('stripe', 'invoice.paid')
    await t.drain()
    ended.give()

    await expect(late).rejects.toMatchObject({ code: 'TX_REVOKED' })
    await expect(expectEffectOnce(t, 'select * from ledger')).rejects.toThrow(
      /is not there[^]*waits \(`await`\) for what it writes/,
    )
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
