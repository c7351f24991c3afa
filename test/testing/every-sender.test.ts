import { describe, expect, onTestFinished, test } from 'vitest'
import { hmac, sendgrid, stripe } from '../../src/providers/index.ts'
import type { HmacOptions } from '../../src/providers/index.ts'
import { FIXTURES } from '../../src/testing/fixtures/index.ts'
import { outOfOrder, sign, testInbox, toFixture } from '../../src/testing/index.ts'
import type { Delivered, ProviderFixture, TestInbox } from '../../src/testing/index.ts'

const fixtures: readonly ProviderFixture[] = Object.values(FIXTURES)
const sources = Object.fromEntries(
  fixtures.map(({ provider }) => [provider.definition.provider, provider as typeof stripe]),
)
const types = fixtures
  // Their notifications have no id: each is another one, of Plaid each that is signed in another second.
  .filter(({ provider }) => !['dropbox', 'plaid'].includes(provider.definition.provider))
  .flatMap(({ provider, events }) =>
    Object.keys(events).map((type) => [provider.definition.provider, type] as const),
  )

const outcomesOf = ({ answers }: Pick<Delivered, 'answers'>) =>
  answers.map((answer) => answer?.outcome)

describe('a provider whose secret is made up', () => {
  test('has its samples taken in, and a retry of each for the same event', async () => {
    const ran: (readonly [string, string])[] = []
    const t = await testInbox({
      sources,
      handlers: (inbox) => {
        for (const source of Object.keys(sources))
          inbox.on(source, '*', ({ type }) => ran.push([source, type]))
      },
    })
    onTestFinished(() => t.close())

    const delivered: Delivered[] = []
    for (const [source, type] of types) {
      const first = await t.deliver(source, type)
      const { answers } = await t.redeliver(first)
      delivered.push({ ...first, answers: [...first.answers, ...answers] })
    }
    await t.idle()
    const ends: unknown[] = []
    for (const { source, type, event, ...one } of delivered)
      ends.push([source, type, ...outcomesOf(one), (await event())?.state])

    expect(types.length).toBeGreaterThan(150)
    expect(ends).toEqual(types.map((one) => [...one, 'accepted', 'duplicate', 'done']))
    expect(ran.toSorted()).toEqual(types.toSorted())
  })

  test('which sends a list of events, or JSON as it writes it, has the values of a test in the one', async () => {
    const seen: unknown[] = []
    const t = await testInbox({
      sources: { sendgrid, plaid: FIXTURES.plaid.provider as typeof stripe },
      handlers: (inbox) => {
        inbox.on('sendgrid', '*', ({ payload }) => seen.push(payload))
        inbox.on('plaid', '*', ({ payload }) => seen.push(payload))
      },
    })
    onTestFinished(() => t.close())

    await t.deliver('sendgrid', 'bounce', { payload: { email: 'mine@example.com' } })
    await t.deliver('plaid', 'TRANSACTIONS.SYNC_UPDATES_AVAILABLE', {
      payload: { environment: 'mine' },
    })
    await t.idle()

    expect(seen).toHaveLength(2)
    expect(seen).toContainEqual(
      expect.objectContaining({ email: 'mine@example.com', status: '5.1.1' }),
    )
    expect(seen).toContainEqual(
      expect.objectContaining({ environment: 'mine', webhook_code: 'SYNC_UPDATES_AVAILABLE' }),
    )
  })

  test('says of which types there is a sample, and what to do for another', async () => {
    const t = await testInbox({ sources: { stripe }, handlers: () => undefined })
    onTestFinished(() => t.close())

    await expect(t.deliver('stripe', 'invoice.piad')).rejects.toThrow(
      /no sample of "invoice\.piad" from stripe, did you mean "invoice\.paid"\? There are: [^]*payload: \{ … \}/,
    )
  })
})

const HMAC = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: ['a-secret-of-more-than-16-bytes'],
} as const

async function aPartner(places: Pick<HmacOptions, 'key' | 'type'>) {
  const options: HmacOptions = { ...HMAC, ...places }
  const bodies: string[] = []
  const t = await testInbox({
    sources: { partner: hmac(options) },
    credentials: { partner: options },
    handlers: (inbox) => {
      inbox.on('partner', '*', ({ body }) => bodies.push(Buffer.from(body).toString()))
    },
  })
  onTestFinished(() => t.close())
  return { t, bodies }
}

describe('a source of hmac', () => {
  test.each<[HmacOptions['key'], HmacOptions['type']]>([
    ['json:$.id', 'json:$.type'],
    ['json:$.id', 'header:x-type'],
    ['header:x-id', 'json:$.type'],
    ['header:x-id', 'header:x-type'],
    [['header:x-id', 'json:$.id'], 'json:$.type'],
    ['body', 'json:$.type'],
    ['body', 'header:x-type'],
  ])(
    'with its key in %s and its type in %s is retried, and delivered from a file',
    async (key, type) => {
      const { t, bodies } = await aPartner({ key, type } as Pick<HmacOptions, 'key' | 'type'>)

      const delivered = await t.deliver('partner', 'order.paid', { payload: { a: 1 }, times: 2 })
      const later = await t.redeliver(delivered)
      await t.idle()
      const record = (await delivered.event())!
      const fixture = toFixture(record)
      const fromFile = await t.deliverFixture(fixture, { times: 2 })

      expect(outcomesOf(delivered)).toEqual(['accepted', 'duplicate'])
      expect(outcomesOf(later)).toEqual(['duplicate'])
      expect(outcomesOf(fromFile)).toEqual(['duplicate', 'duplicate'])
      expect(record).toMatchObject({ type: 'order.paid', state: 'done' })
      expect(bodies).toHaveLength(1)
      if (key !== 'body') expect(delivered.key).toBe(record.key)
    },
  )

  test('takes a text as it is, with the key that it has', async () => {
    const { t, bodies } = await aPartner({ key: 'json:$.id', type: 'json:$.type' })
    const payload = '{ "type": "order.paid",\n  "id": "o1" }'

    const delivered = await t.deliver('partner', 'order.paid', { payload, times: 2 })
    await t.idle()

    expect(bodies).toEqual([payload])
    expect(await delivered.event()).toMatchObject({ key: 'o1', type: 'order.paid' })
    await expect(t.deliver('partner', 'order.paid', { payload, id: 'o2' })).rejects.toThrow(
      'sign.key',
    )
  })
})

test('a body of bytes is sent as it is, by a sender with its key in the body and one with it in a header', async () => {
  const { stripe: known, github } = FIXTURES
  const t: TestInbox<typeof sources> = await testInbox({
    sources,
    handlers: (inbox) => {
      inbox.on('stripe', '*', () => undefined)
      inbox.on('github', '*', () => undefined)
    },
  })
  onTestFinished(() => t.close())

  for (const [source, fixture] of [
    ['stripe', known],
    ['github', github],
  ] as const) {
    const { type = '' } = { type: Object.keys(fixture.events)[0] }
    const payload = sign(fixture, { type }, { secret: 'any' }).body
    const delivered = await t.deliver(source, type, { payload, times: 2 })
    await t.idle()
    expect(outcomesOf(delivered)).toEqual(['accepted', 'duplicate'])
    const { body = [], ...record } = (await delivered.event()) ?? {}
    expect(record).toMatchObject({ type, state: 'done' })
    expect(Buffer.from(body).equals(payload)).toBe(true)
  }
})

describe('events in every order', () => {
  test.each(['telegram', 'paystack', 'xero'])(
    'of %s have ids as it gives them, and the same in each',
    async (source) => {
      const type = Object.keys(
        fixtures.find(({ provider }) => provider.definition.provider === source)!.events,
      )[0]!
      const looks: unknown[] = []

      await outOfOrder(
        () =>
          testInbox({
            sources,
            setup: 'create table seen (id text)',
            handlers: (inbox) =>
              inbox.on(source, '*', async ({ key }, { tx }) => {
                await tx.query('insert into seen values (?)', [key])
              }),
          }),
        [
          [source, type],
          [source, type],
        ],
        async (t) => {
          const rows = await t.rows('select id from seen order by id')
          looks.push(rows)
          return rows
        },
      )

      expect(looks).toHaveLength(2)
      expect(looks[0]).toHaveLength(2)
    },
  )

  test.each([
    ['dead', 'is dead: the ledger is closed'],
    ['refused', 'was refused with 401'],
  ])('of which one is %s in its own order are not taken for well', async (end, said) => {
    const make = () =>
      testInbox({
        sources: { partner: hmac({ ...HMAC, key: 'json:$.id', type: 'json:$.type' }) },
        credentials: {
          partner: {
            ...HMAC,
            key: 'json:$.id',
            type: 'json:$.type',
            ...(end === 'refused' && { secrets: ['another-secret-of-16-bytes'] }),
          },
        },
        handlers: (inbox) =>
          inbox.on('partner', '*', () => {
            throw new Error('the ledger is closed')
          }),
      })
    const events = [
      ['partner', 'a'],
      ['partner', 'b'],
    ] as const

    await expect(outOfOrder(make, events, () => 1)).rejects.toThrow(said)
  })
})

describe('what cannot be used is refused by name', () => {
  test.each([
    ['no sources', {}, 'testInbox.sources must be sources by name: { stripe }'],
    ['a source that is nothing', { sources: { stripe: undefined } }, 'testInbox.sources.stripe'],
    ['hmac without its options', { sources: { hmac } }, 'testInbox.sources.hmac'],
    [
      'credentials of no source',
      { sources: { stripe }, credentials: { strype: { secret: 's' } } },
      'did you mean "stripe"?',
    ],
    [
      'a store that is made already',
      { sources: { stripe }, store: {} },
      '() => postgresStore({ pool })',
    ],
  ])('%s', async (_name, options, said) => {
    await expect(testInbox({ ...options, handlers: () => undefined } as never)).rejects.toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(said) }),
    )
  })
})
