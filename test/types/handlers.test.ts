import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { createInbox, destination, httpDestination } from '../../src/index.ts'
import type { Destination, WebhookEvent } from '../../src/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { github, hmac, stripe, withSchemas } from '../../src/providers/index.ts'
import type { StripePayload } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { testInbox } from '../../src/testing/index.ts'
import type { GithubEventMap } from '../../src/types/github.ts'
import type { StripeEventMap } from '../../src/types/stripe.ts'
import pg from 'pg'

interface PartnerEvents {
  readonly 'order.created': { readonly order: string }
  readonly 'order.paid': { readonly order: string; readonly cents: number }
  readonly 'user.deleted': { readonly user: number }
}

const partner = hmac<PartnerEvents>({
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: ['a secret of more than sixteen bytes'],
  key: 'json:$.id',
})

/** Never started: only its types are looked at, and that these calls are accepted. */
const inbox = createInbox({
  store: sqliteStore('never-opened.db'),
  sources: { stripe: stripe({ secrets: ['whsec_test_secret_of_some_length'] }), partner },
})

describe('the types of handlers', () => {
  test('the payload follows from source and type', () => {
    inbox.on('partner', 'order.paid', (event, { tx }) => {
      expectTypeOf(event.payload).toEqualTypeOf<{
        readonly order: string
        readonly cents: number
      }>()
      expectTypeOf(tx).toEqualTypeOf<SqliteTx>()
    })
    inbox.on('stripe', 'invoice.paid', (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<StripePayload>()
    })
  })

  test('a pattern gives the union of what it matches, a list the union of its types', () => {
    inbox.on('partner', 'order.*', (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<
        { readonly order: string } | { readonly order: string; readonly cents: number }
      >()
    })
    inbox.on('partner', ['order.created', 'user.deleted'], (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<
        { readonly order: string } | { readonly user: number }
      >()
    })
  })

  test('an order of a source is asked about the payloads of that source', () => {
    createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { partner },
      handlerDefaults: {
        order: {
          partner: {
            mode: 'fifo',
            lane: (event) => {
              expectTypeOf(event.payload).toEqualTypeOf<PartnerEvents[keyof PartnerEvents]>()
              return event.type
            },
          },
        },
      },
    }).on('partner', 'order.paid', { order: { mode: 'none' } }, (event) => {
      expectTypeOf(event.payload.cents).toBeNumber()
    })
    const misspelt = () =>
      createInbox({
        store: sqliteStore('never-opened.db'),
        sources: { partner },
        // @ts-expect-error -- there is no such source
        handlerDefaults: { order: { partnr: { mode: 'fifo', lane: () => '' } } },
      })
    expect(misspelt).toThrow('partnr')
  })

  test('a schema decides the payload', () => {
    const schema = z.object({ id: z.string(), amount: z.coerce.bigint() })
    inbox.on('stripe', 'charge.succeeded', { schema }, (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<{ id: string; amount: bigint }>()
      expectTypeOf(event).toExtend<WebhookEvent>()
    })
  })

  test('an at-least-once handler has no transaction', () => {
    inbox.on('stripe', 'charge.failed', { guarantee: 'at-least-once' }, (_event, context) => {
      expectTypeOf(context).toHaveProperty('tx').toEqualTypeOf<never>()
    })
  })

  test('an order and a fetch know the payload, and the handler what was fetched', () => {
    const order = { mode: 'fifo', lane: () => 'lane' } as const
    inbox.on(
      'partner',
      'order.paid',
      {
        name: 'fetching',
        order: {
          mode: 'latest',
          lane: (event) => event.payload.order,
          version: (event) => event.payload.cents,
        },
        fetch: async (event) => ({ id: event.payload.order, name: 'Ada' }),
      },
      (_event, { fetched }) => {
        expectTypeOf(fetched).toEqualTypeOf<{ id: string; name: string }>()
      },
    )
    inbox.steps('stripe', 'charge.refunded', { order }, (_event, step) => {
      expectTypeOf(step.fetched).toEqualTypeOf<undefined>()
    })
  })

  test('the transaction is the one of the store', () => {
    const onPostgres = createInbox({
      store: postgresStore({ pool: new pg.Pool() }),
      sources: { partner },
    })
    onPostgres.on('partner', 'order.paid', (_event, { tx }) => {
      expectTypeOf(tx).toEqualTypeOf<PostgresTx>()
    })
  })

  test('a source with schemas has what they put out, and no other types', () => {
    const checked = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: {
        partner: withSchemas(partner, {
          'order.paid': z.object({ cents: z.coerce.bigint() }),
          'order.gone': z.object({ id: z.string() }),
        }),
      },
    })
    checked.on('partner', 'order.paid', (event) => {
      expectTypeOf(event.payload).toEqualTypeOf<{ cents: bigint }>()
    })
    const mistakes = () => {
      // @ts-expect-error there is no schema for this type
      checked.on('partner', 'order.payed', () => undefined)
    }
    expectTypeOf(mistakes).toBeFunction()
  })

  test('a handler can send to what the inbox has, what it takes', () => {
    const receipt = z.object({ to: z.string(), cents: z.coerce.number<string>() })
    const sending = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { partner },
      destinations: [
        destination('mail', { schema: receipt }, () => undefined),
        httpDestination('erp', { url: 'https://erp.example.com/hooks' }),
      ],
    })
    sending.on('partner', 'order.paid', async (_event, { send, tx }) => {
      await send('mail', { to: 'on-call@example.com', cents: '5' })
      await send('erp', 'anything')
      await sending.outbox.send(tx, 'erp', 'anything')
    })
    const mistakes = async (tx: SqliteTx) => {
      // @ts-expect-error there is no such destination
      await sending.outbox.send(tx, 'nosuch', {})
      // @ts-expect-error it takes another payload
      await sending.outbox.send(tx, 'mail', { to: 5 })
      await sending.once(tx, { source: 'jobs', key: 'a' }, async ({ send }) => {
        await send('erp', 'anything')
        // @ts-expect-error there is no such destination
        await send('nosuch', {})
        // @ts-expect-error it takes another payload
        await send('mail', { to: 5 })
      })
      sending.on('partner', 'order.created', async (_event, { send }) => {
        // @ts-expect-error there is no such destination
        await send('nosuch', {})
        // @ts-expect-error it takes another payload
        await send('mail', { to: 5 })
      })
      sending.steps('partner', 'user.deleted', async (_event, step) => {
        // @ts-expect-error there is no such destination
        await step.send('nosuch', {})
        // @ts-expect-error it takes another payload
        await step.tx('write', (_tx, { send }) => send('mail', { to: 5 }))
      })
      inbox.on('partner', 'order.created', async (_event, { send }) => {
        // @ts-expect-error this inbox has no destinations
        await send('mail', {})
      })
    }
    expectTypeOf(mistakes).toBeFunction()
  })

  test('destinations that are put together at run time may have any name', () => {
    const listed: readonly Destination[] = []
    const open = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { partner },
      destinations: listed,
    })
    open.on('partner', 'order.paid', (_event, { send }) => send('any', { what: 'ever' }))
  })

  test('without a map any type of a provider compiles, and with one only those of the map', () => {
    const handler = () => undefined
    inbox.on('stripe', 'invoice.payed', handler)
    const secrets = ['a-secret-of-more-than-16-bytes']
    const known = createInbox({
      store: sqliteStore('never-opened.db'),
      sources: {
        stripe: stripe<StripeEventMap>({ secrets }),
        hub: github<GithubEventMap>({ secrets }),
      },
    })
    known.on('stripe', 'invoice.paid', handler).on('hub', 'push', handler)
    const mistakes = () => {
      // @ts-expect-error Stripe has no such type
      known.on('stripe', 'invoice.payed', handler)
      // @ts-expect-error GitHub has no such type
      known.on('hub', 'pushed', handler)
      // @ts-expect-error nor in a list
      known.on('stripe', ['invoice.paid', 'invoice.payed'], handler)
    }
    expectTypeOf(mistakes).toBeFunction()
  })

  test('the test kit delivers types that the source has, and knows the destinations', () => {
    const use = async () => {
      const t = await testInbox({
        sources: { stripe, partner, known: stripe<StripeEventMap>({ secrets: ['x'] }) },
        destinations: [destination('mail', () => undefined)],
        handlers: () => undefined,
      })
      await t.deliver('stripe', 'of.any.type', { payload: {} })
      await t.deliver('partner', 'order.paid', { payload: {} })
      await t.deliver('known', 'invoice.paid')
      t.onSend('mail', () => undefined)
      t.messages('mail')
      t.messages()
      // @ts-expect-error the partner sends no such event
      await t.deliver('partner', 'order.payed', { payload: {} })
      // @ts-expect-error nor does Stripe
      await t.deliver('known', 'invoice.payed')
      // @ts-expect-error there is no such source
      await t.deliver('partnr', 'order.paid')
      // @ts-expect-error there is no such destination
      t.messages('mial')
      // @ts-expect-error there is no such destination
      t.onSend('mial', () => undefined)
      const listed: readonly Destination[] = []
      const open = await testInbox({ sources: {}, destinations: listed, handlers: () => undefined })
      open.messages('any')
    }
    expectTypeOf(use).toBeFunction()
  })

  test('what does not exist does not compile', () => {
    const mistakes = () => {
      // @ts-expect-error there is no such source
      inbox.on('strype', 'invoice.paid', () => undefined)
      // @ts-expect-error the source lists its types, and this is none of them
      inbox.on('partner', 'order.payed', () => undefined)
      // @ts-expect-error there is no such option
      inbox.on('stripe', 'invoice.paid', { timeout: 5 }, () => undefined)
      // @ts-expect-error there is no such source
      inbox.fetch('strype')
    }
    expectTypeOf(mistakes).toBeFunction()
  })
})
