import { existsSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox, destination, permanent, retryAfter } from '../../src/index.ts'
import { github, hmac, stripe } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { KeptLog } from '../../src/testing/kit/kept-log.ts'
import type {} from '../../src/testing/runners/vitest.ts'
import { crashAt, hookonceMatchers, outOfOrder, testInbox } from '../../src/testing/index.ts'

import { aSignal } from '../support/a-signal.ts'

expect.extend(hookonceMatchers)

const PAID = 'create table paid (invoice text, cents integer)'

async function anInbox() {
  const t = await testInbox({
    sources: { stripe, github },
    setup: PAID,
    destinations: [destination('mail', () => Promise.reject(new Error('never called in a test')))],
    handlers: (inbox) => {
      inbox.on('stripe', 'invoice.paid', async (event, { tx, send }) => {
        const { id, amount_paid: cents } = event.payload.data.object
        await tx.query('insert into paid values (?, ?)', [id, cents])
        await send('mail', { invoice: id })
      })
      inbox.steps('stripe', 'customer.subscription.deleted', async (event, step) => {
        const refund = await step.call('refund', () => ({ id: 're_1' }))
        await step.tx('write', async (tx) => {
          await tx.query('insert into paid values (?, -1)', [refund.id])
        })
        await step.send('mail', { refund: refund.id })
      })
    },
  })
  onTestFinished(() => t.close())
  return t
}

describe('a test inbox', () => {
  test('takes duplicates in, one by one and at once, and each event takes effect once', async () => {
    const t = await anInbox()

    const delivered = await t.deliver('stripe', 'invoice.paid', { times: 20, parallel: true })
    await t.redeliver(delivered, { times: 3 })
    await t.idle()
    await t.redeliver(delivered)
    await t.idle()

    expect(delivered.answers.map((answer) => answer?.status)).toEqual(Array(20).fill(200))
    await expect(t).toHaveTakenEffectOnce('select * from paid')
    await expect(delivered).toBeDone()
    expect(t.messages('mail')).toHaveBeenSentOnce()
  })

  test('has payloads that fit the type, with the values of the test in them', async () => {
    const t = await anInbox()

    await t.deliver('stripe', 'invoice.paid', {
      id: 'evt_mine',
      payload: { data: { object: { amount_paid: 7 } } },
    })
    await t.idle()

    expect(await t.rows('select * from paid')).toEqual([
      { invoice: 'in_1Example00000000000000001', cents: 7 },
    ])
    expect(t.messages()).toMatchObject([
      { destination: 'mail', attempt: 1, payload: { invoice: 'in_1Example00000000000000001' } },
    ])
  })

  test('runs nothing before it is told to, and skips every wait when it is told to', async () => {
    const attempts: number[] = []
    const t = await testInbox({
      sources: { stripe },
      handlers: (inbox) => {
        inbox.on('stripe', 'invoice.paid', (_event, { attempt }) => {
          attempts.push(attempt)
          throw new Error('the ledger is closed')
        })
        inbox.on('stripe', 'checkout.session.completed', (_event, { attempt }) => {
          if (attempt === 1) throw retryAfter(7_200_000)
        })
      },
    })
    onTestFinished(() => t.close())

    const failing = await t.deliver('stripe', 'invoice.paid')
    const late = await t.deliver('stripe', 'checkout.session.completed')
    expect(attempts).toEqual([])
    await t.idle()
    await t.clock.advance({ minutes: 1 })
    await t.idle()
    expect(attempts).toEqual([1, 2])
    await expect(late).not.toBeDone()
    await t.clock.advance({ hours: 2 })
    await t.idle()
    await expect(late).toBeDone()
    await t.drain()

    expect(attempts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    await expect(failing).toBeDead('the ledger is closed')
  })

  test('an event that cannot succeed is dead at once, and a test can say why', async () => {
    const t = await testInbox({
      sources: { stripe },
      handlers: (inbox) =>
        inbox.on('stripe', '*', () => {
          throw permanent('a negative amount')
        }),
    })
    onTestFinished(() => t.close())

    const delivered = await t.deliver('stripe', 'invoice.paid')
    await t.idle()

    await expect(delivered).toBeDead(/negative/)
    await expect(expect(delivered).toBeDead('another')).rejects.toThrow(
      'is dead for another reason than another: PermanentError: a negative amount',
    )
    await expect(expect(delivered).toBeDone()).rejects.toThrow('should be done and is dead: ')
  })

  test.each([
    ['a message lapses by the clock alone, and it is sent again', 'a relay'],
    ['an event is its worker’s while that lives, whatever the clock says', 'a step'],
  ] as const)('the lease of %s', async (_name, holder) => {
    const made: string[] = []
    const entered = aSignal()
    const released = aSignal()
    // Of the process of the test it stays under way until the end.
    const hang = async () => {
      made.push('here')
      entered.give()
      await released.given
    }
    const isStep = holder === 'a step'
    const mail = destination('mail', () => void made.push('there'))
    const t = await testInbox({
      sources: { stripe },
      destinations: [mail],
      handlers: (inbox) => {
        if (isStep) inbox.steps('stripe', '*', (_event, step) => step.call('charge', hang))
        else inbox.on('stripe', '*', async (_event, { send }) => send('mail', {}))
      },
    })
    onTestFinished(() => t.close())
    t.onSend('mail', hang)
    const other = createInbox({
      store: sqliteStore(t.file ?? ''),
      sources: { stripe: stripe({ secrets: ['whsec_of_the_other_process'] }) },
      destinations: [mail],
      logger: new KeptLog(),
    })
    onTestFinished(() => other.stop())
    if (isStep)
      other.steps('stripe', '*', (_event, step) =>
        step.call('charge', () => void made.push('there')),
      )

    const delivered = await t.deliver('stripe', 'invoice.paid')
    const running = t.idle()
    await entered.given
    await other.runDue({ budgetMs: 60_000 })
    expect(made).toEqual(['here'])
    await t.clock.advance({ minutes: 10 })
    await other.runDue({ budgetMs: 60_000 })

    // By the other, unless the relay of the test was quicker: it has room for a second one.
    await expect.poll(() => made.length).toBe(isStep ? 1 : 2)
    released.give()
    await running
    await t.drain()
    await expect(delivered).toBeDone()
    expect(made).toHaveLength(isStep ? 1 : 2)
  })

  test('forgets keys when their time has passed, and takes the event for a new one then', async () => {
    const t = await anInbox()
    const delivered = await t.deliver('stripe', 'invoice.paid')
    await t.idle()

    await t.clock.advance({ days: 44 })
    await t.prune()
    expect((await t.redeliver(delivered)).answers[0]?.outcome).toBe('duplicate')
    await t.clock.advance({ days: 2 })
    await t.prune()
    expect((await t.redeliver(delivered)).answers[0]?.outcome).toBe('accepted')
  })

  test.each([
    { mode: 'sequence', sequence: () => 2, gapMs: 60_000, onGap: 'run' },
    { mode: 'after', requires: 'invoice.created', waitMs: 60_000, onMissing: 'run' },
  ] as const)(
    'what an event waits for in its lane is waited for by drain ($mode)',
    async (order) => {
      const t = await testInbox({
        sources: { stripe },
        handlers: (inbox) => {
          inbox.on('stripe', 'invoice.created', () => undefined)
          const lane = () => 'K'
          inbox.on('stripe', 'invoice.paid', { order: { ...order, lane } }, () => undefined)
        },
      })
      onTestFinished(() => t.close())
      const delivered = await t.deliver('stripe', 'invoice.paid')

      const { nextDueInMs } = await t.idle()
      expect(nextDueInMs).toBeGreaterThan(0)
      expect(nextDueInMs).toBeLessThanOrEqual(60_000)
      await t.drain()

      await expect(delivered).toBeDone()
    },
  )

  test('a destination answers as the test says', async () => {
    const t = await anInbox()
    let isDown = true
    t.onSend('mail', () => {
      if (isDown) throw new Error('down')
    })
    await t.deliver('stripe', 'invoice.paid')
    await t.idle()
    expect(t.messages('mail')).toEqual([])

    isDown = false
    await t.drain()

    expect(t.messages('mail')).toHaveBeenSentOnce()
  })

  test('a destination that is misspelt is no destination to which nothing was sent', async () => {
    const t = await anInbox()
    const expected = { code: 'DESTINATION_UNKNOWN' }

    expect(() => t.onSend('mial' as never, () => undefined)).toThrow('did you mean "mail"?')
    expect(() => t.messages('mial' as never)).toThrow(expect.objectContaining(expected))
    expect(t.messages()).toEqual([])
  })

  test('a source of yours is signed for with its credentials', async () => {
    const options = {
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      secrets: ['a-secret-of-more-than-16-bytes'],
      key: 'json:$.id',
      type: 'json:$.type',
    } as const
    const seen: unknown[] = []
    const t = await testInbox({
      sources: { partner: hmac(options), shop: stripe({ secrets: ['whsec_of_the_shop_itself'] }) },
      credentials: { partner: options, shop: { secret: 'whsec_of_the_shop_itself' } },
      handlers: (inbox) => {
        inbox.on('partner', '*', (event) => seen.push(event.payload))
        inbox.on('shop', '*', (event) => seen.push(event.type))
      },
    })
    onTestFinished(() => t.close())

    await t.deliver('partner', 'order.paid', { id: 'o1', payload: { total: 5 } })
    await t.deliver('shop', 'invoice.paid')
    await t.idle()

    expect(seen).toHaveLength(2)
    expect(seen).toContainEqual({ id: 'o1', type: 'order.paid', total: 5 })
    expect(seen).toContain('invoice.paid')
  })

  test('says how to sign for a source that it does not know the secret of', async () => {
    const t = await testInbox({
      sources: { shop: stripe({ secrets: ['whsec_of_the_shop_itself'] }) },
      handlers: () => undefined,
    })
    onTestFinished(() => t.close())

    await expect(t.deliver('shop', 'invoice.paid')).rejects.toThrow(
      'credentials: { shop: { secret } }',
    )
  })

  test('refuses what it does not know', async () => {
    const t = await anInbox()

    expect(() => t.crashAt('nowhere' as never)).toThrow('one of before-store')
    await expect(t.deliver('stripe', 'invoice.paid', { time: 2 } as never)).rejects.toThrow('times')
    await expect(t.deliver('strype' as never, 'invoice.paid')).rejects.toThrow('strype')
    await expect(t.deliver('stripe', 'no.such.type')).rejects.toThrow(
      'no sample of "no.such.type" from stripe',
    )
    await expect(t.clock.advance({ hours: 0 })).rejects.toThrow('{ hours: 1 }')
    await expect(
      testInbox({ sources: { stripe }, handlers: () => 1, stores: 1 } as never),
    ).rejects.toThrow('unknown option "stores"')
    await expect(
      testInbox({ sources: { stripe }, handlers: () => 1, onClose: true } as never),
    ).rejects.toThrow('testInbox.onClose must be a function')
  })

  test('leaves nothing behind', async () => {
    const t = await anInbox()
    const { file = '' } = t
    expect(existsSync(file)).toBe(true)

    await t.close()

    expect(existsSync(file)).toBe(false)
  })

  test('is followed by what the user closes: once, and also where its handlers cannot be registered', async () => {
    const closed: string[] = []
    const open = (name: string, handlers: () => unknown) =>
      testInbox({ sources: { stripe }, handlers, onClose: () => closed.push(name) })
    const t = await open('well', () => undefined)
    const { file = '' } = t
    expect(closed).toEqual([])

    await t.close()
    await t.close()
    await expect(
      open('ill', () => {
        throw new Error('no such handler')
      }),
    ).rejects.toThrow('no such handler')

    expect(closed).toEqual(['well', 'ill'])
    expect(existsSync(file)).toBe(false)
  })
})

describe('a process that dies in a test', () => {
  test('each effect is there once, wherever it dies', async () => {
    const reached = await crashAt.each(anInbox, async (t) => {
      await t.deliver('stripe', 'invoice.paid', { times: 2 })
      await t.deliver('stripe', 'customer.subscription.deleted')
      await t.drain()

      await expect(t).toHaveTakenEffectOnce('select * from paid where cents > 0')
      await expect(t).toHaveTakenEffectOnce('select * from paid where cents < 0')
      expect(t.calls('refund')).toHaveBeenMadeOnce()
      const payloads = new Map(t.messages().map((one) => [one.idempotencyKey, one.payload]))
      expect([...payloads.values()]).toHaveLength(2)
    })

    expect(reached).toEqual(crashAt.points)
  })

  test('has lost its memory and is another one', async () => {
    const lives: number[] = []
    const t = await testInbox({
      sources: { stripe },
      setup: PAID,
      handlers: (inbox) => {
        let runs = 0
        inbox.on('stripe', 'invoice.paid', async (_event, { tx, crashes }) => {
          runs += 1
          lives.push(runs)
          await tx.query('insert into paid values (?, ?)', ['in', crashes])
        })
      },
    })
    onTestFinished(() => t.close())
    const before = t.inbox
    t.crashAt('before-commit')
    const delivered = await t.deliver('stripe', 'invoice.paid')
    await t.idle()

    expect(lives).toEqual([1, 1])
    expect(t.inbox).not.toBe(before)
    expect(await t.rows('select cents from paid')).toEqual([{ cents: 1 }])
    expect(t.crashes()).toMatchObject([{ point: 'before-commit' }])
    expect(await delivered.event()).toMatchObject({ state: 'done' })
    await expect(before.admin.countEvents()).rejects.toThrow()
  })

  test('dies the second time that it comes to a point, where the test says so', async () => {
    const t = await anInbox()
    t.crashAt('after-handler', { nth: 2 })
    await t.deliver('stripe', 'invoice.paid')
    await t.idle()
    expect(t.crashes()).toEqual([])
    await t.deliver('stripe', 'invoice.paid')
    await t.idle()

    expect(t.crashes()).toHaveLength(1)
    expect(await t.rows('select * from paid')).toHaveLength(2)
  })

  test('dies at each visit to each point, and at no more of them than the test says', async () => {
    const seen: string[] = []
    const points = ['after-store', 'before-commit']
    const test = async (t: Awaited<ReturnType<typeof anInbox>>) => {
      await t.deliver('stripe', 'invoice.paid')
      await t.deliver('stripe', 'invoice.paid', { id: 'evt_second', times: 2 })
      const visits = points.map((point) => `${point} ${t.visits().get(point as never) ?? 0}`)
      await t.drain()
      expect(await t.rows('select * from paid')).toHaveLength(2)
      seen.push([...t.crashes().map(({ point }) => point), ...visits].join(', '))
    }

    await crashAt.each(anInbox, test)
    const all = seen.splice(0)
    await crashAt.each(anInbox, test, { visitsMax: 1 })

    // Three deliveries, and one more by the sender that had no answer.
    expect(all[0]).toBe('after-store 3, before-commit 0')
    expect(all.filter((one) => one === 'after-store, after-store 4, before-commit 0')).toHaveLength(
      3,
    )
    expect(seen.filter((one) => one.startsWith('after-store, '))).toHaveLength(1)
    expect(seen).toHaveLength(new Set(seen.map((one) => one.split(',')[0])).size)
  })

  test('does not die a thousand times by itself', async () => {
    let runs = 0
    const test = async (t: Awaited<ReturnType<typeof anInbox>>) => {
      runs += 1
      for (let at = 0; at < 51; at += 1) await t.deliver('stripe', 'invoice.paid')
    }

    await expect(crashAt.each(anInbox, test)).rejects.toThrow(
      /102 times in this test[^]*before-store 51, after-store 51[^]*visitsMax: 3/,
    )
    expect(runs).toBe(1)
    expect(await crashAt.each(anInbox, test, { visitsMax: 1 })).toEqual([
      'before-store',
      'after-store',
    ])
    expect(runs).toBe(4)
    await expect(crashAt.each(anInbox, test, { visitMax: 1 } as never)).rejects.toThrow('visitsMax')
    await expect(crashAt.each(anInbox, test, { visitsMax: 0 })).rejects.toThrow('visitsMax')
  })

  test.each([
    ['before-store', 'accepted'],
    ['after-store', 'duplicate'],
  ] as const)('%s: its sender has no answer, and delivers again', async (point, outcome) => {
    const t = await anInbox()
    t.crashAt(point)

    const { answers } = await t.deliver('stripe', 'invoice.paid')

    expect(answers.map((answer) => answer?.outcome)).toEqual([undefined, outcome])
  })
})

describe('events that come in another order', () => {
  const events = [
    ['stripe', 'invoice.paid', { payload: { data: { object: { id: 'in_1', status: 'open' } } } }],
    ['stripe', 'invoice.paid', { payload: { data: { object: { id: 'in_1', status: 'paid' } } } }],
  ] as const

  const withOrder = (order: object) => () =>
    testInbox({
      sources: { stripe },
      setup: 'create table invoices (id text primary key, status text)',
      handlers: (inbox) => {
        inbox.on('stripe', 'invoice.paid', { ...order }, async (event, { tx }) => {
          const { id, status } = event.payload.data.object
          await tx.query(
            'insert into invoices values ($1, $2) on conflict (id) do update set status = $2',
            [id, status],
          )
        })
      },
    })

  test('leave the same behind where only what is newer wins', async () => {
    const order = {
      mode: 'latest',
      lane: () => 'in_1',
      version: ({ occurredAt }: { occurredAt?: Date }) => Number(occurredAt),
    }
    await outOfOrder(withOrder({ order }), events, (t) => t.rows('select * from invoices'))
  })

  test('are caught where the last one wins', async () => {
    await expect(
      outOfOrder(withOrder({}), events, (t) => t.rows('select status from invoices')),
    ).rejects.toThrow(/makes a difference[^]*status: 'paid'[^]*status: 'open'[^]*mode: 'latest'/)
  })
})
