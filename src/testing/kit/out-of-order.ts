import { inspect, isDeepStrictEqual } from 'node:util'
import { OptionInvalidError } from '../../errors.ts'
import type { Delivered, DeliverOptions } from './deliver.ts'

/** An event to be delivered: source, type, and the rest as for `deliver`. */
export type Planned<Source extends string = string> = readonly [
  source: Source,
  type: string,
  options?: Omit<DeliverOptions, 'times' | 'parallel'>,
]

/** What events are delivered to: a `TestInbox`. */
export interface OrderSubject {
  deliver(source: never, type: string, options?: DeliverOptions): Promise<Delivered>
  drain(): Promise<void>
  close(): Promise<void>
}

/** All orders of four events. */
const ORDERS_MAX = 24

/**
 * Delivers the same events in every order, up to four of them, and in 24 orders of more, each time to an inbox of its
 * own, and lets each event run before the next one comes. What is there in the end must be the same as in the order that
 * was given, which is the one in which they happened. In that order each must come to a good end.
 *
 * @param make - makes the inbox, on a database that is empty
 * @param events - in the order in which they happened; each is a second later than the one before it
 * @param look - what must not depend on the order: `(t) => t.rows('select … order by …')`
 * @throws Error with the order that made a difference, and the difference; or with the event that is refused or dead in
 * the order that was given, where nothing could be compared
 */
export async function outOfOrder<Subject extends OrderSubject>(
  make: () => Promise<Subject>,
  events: readonly Planned[],
  look: (subject: Subject) => unknown,
): Promise<void> {
  if (!Array.isArray(events) || events.length < 2)
    throw new OptionInvalidError('outOfOrder.events', 'a list of two events or more', events)
  const given = withTimes(events)
  const inOrder = given.map((_, index) => index)
  const { found: expected, delivered } = await runIn(make, given, async (subject, all) => {
    for (const one of all) await requireGoodEnd(one)
    return look(subject)
  })
  // With the ids that they were given there.
  const dated = given.map(([source, type, options], index): Planned => {
    const id = delivered[index]?.key ?? ''
    return [source, type, id === '' ? { ...options } : { ...options, id }]
  })
  for (const order of listOrders(inOrder).slice(1)) {
    const { found } = await runIn(
      make,
      order.map((index) => dated[index] as Planned),
      look,
    )
    if (isDeepStrictEqual(found, expected)) continue
    throw new Error(describe(dated, order, { expected, found }))
  }
}

/** In every order they have the same times. */
function withTimes(events: readonly Planned[]): readonly Planned[] {
  const last = Math.floor(Date.now() / 1_000) * 1_000
  return events.map(([source, type, options = {}], index) => {
    const at = new Date(last - (events.length - index) * 1_000)
    return [source, type, { at, ...options }]
  })
}

async function runIn<Subject extends OrderSubject>(
  make: () => Promise<Subject>,
  events: readonly Planned[],
  look: (subject: Subject, delivered: readonly Delivered[]) => unknown,
): Promise<{ readonly found: unknown; readonly delivered: readonly Delivered[] }> {
  const subject = await make()
  try {
    const delivered: Delivered[] = []
    for (const [source, type, options] of events) {
      delivered.push(await subject.deliver(source as never, type, options))
      await subject.drain()
    }
    return { found: await look(subject, delivered), delivered }
  } finally {
    await subject.close()
  }
}

/** What is refused or dead in the order in which it happened leaves the same behind in every order: nothing. */
async function requireGoodEnd({ source, type, answers, event }: Delivered): Promise<void> {
  const record = await event()
  if (record !== undefined && !BAD_ENDS.has(record.state)) return
  const [status] = answers.flatMap((answer) => answer?.status ?? [])
  const end =
    record === undefined
      ? `was refused with ${status ?? 'no answer'}`
      : `is ${record.state}: ${record.outcome?.reason ?? record.failures.at(-1)?.message ?? ''}`
  throw new Error(
    `Nothing can be compared: already in the order in which they happened, ${type} of ${source} ${end}\nDo: let each come to a good end in that order first. expectDone(delivered) says the same of one alone.`,
  )
}

const BAD_ENDS: ReadonlySet<string> = new Set(['dead', 'conflict', 'quarantined'])

/** The given order first, then others; the reverse of it among the first. */
function listOrders(order: readonly number[]): readonly (readonly number[])[] {
  const orders: (readonly number[])[] = [order, order.toReversed()]
  const seen = new Set(orders.map(String))
  const visit = (head: readonly number[], rest: readonly number[]): void => {
    if (orders.length >= ORDERS_MAX) return
    if (rest.length === 0 && !seen.has(String(head))) {
      seen.add(String(head))
      orders.push(head)
    }
    for (const one of rest.toReversed())
      visit(
        [...head, one],
        rest.filter((other) => other !== one),
      )
  }
  visit([], order)
  return orders
}

function describe(
  events: readonly Planned[],
  order: readonly number[],
  { expected, found }: { readonly expected: unknown; readonly found: unknown },
): string {
  const types = events.map(([, type]) => type)
  // Those of one type are told apart by their place in the list.
  const name = (index: number) => {
    const type = types[index] ?? ''
    return types.indexOf(type) === types.lastIndexOf(type) ? type : `${type} (${index + 1})`
  }
  const show = (value: unknown) => inspect(value, { depth: 6, breakLength: 200 })
  return [
    'The order in which events come makes a difference, and senders promise none:',
    `  ${events.map((_, index) => name(index)).join(', ')}`,
    `    → ${show(expected)}`,
    `  ${order.map(name).join(', ')}`,
    `    → ${show(found)}`,
    '',
    "Do: let only what is newer win, with `order: { mode: 'latest', … }` on the handler; keep the order of one object with `mode: 'fifo'`, 'sequence' or 'after'; or write so that order does not matter: an upsert in place of an update, a row for each event in place of a sum.",
  ].join('\n')
}
