/** Signed deliveries with as many events as one likes, of every provider that puts several into one. */

import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { CHECKED_AT, makeSubject, sampleKey } from '../../src/testing/check-subject.ts'
import type { Subject } from '../../src/testing/check-subject.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

export interface SignedBatch {
  readonly slug: string
  /** What of it grows with the number of events. */
  readonly shape: string
  readonly source: Source
  readonly deliver: (count: number) => Delivery
}

export async function listSignedBatches(): Promise<readonly SignedBatch[]> {
  const batches: SignedBatch[] = []
  for (const [slug, provider] of PROVIDERS) {
    if (provider.definition.batch === undefined) continue
    const one = await findCase(slug)
    if (one?.batch === undefined) throw new Error(`${slug} batches, and its case does not say how`)
    const subject = makeSubject(provider, one)
    for (const [shape, grow] of Object.entries({ ...SHAPES, ...OWN_SHAPES[slug] })) {
      if (grow(one.batch(['1'], CHECKED_AT), 1) === undefined) continue
      const deliver = (count: number) =>
        subject.deliver({ body: grow(one.batch?.(keysOf(subject, count), CHECKED_AT), count) })
      batches.push({ slug, shape, source: subject.source, deliver })
    }
  }
  return batches
}

function keysOf({ one }: Subject, count: number): readonly string[] {
  const first = sampleKey(one.fixture, 1)
  // In the shape of one sample: making each anew takes longer than all that is measured.
  const isNumber = /^\d+$/.test(first)
  return Array.from({ length: count }, (_, n) =>
    isNumber ? String(Number(first) + n) : `${first.slice(0, -1)}${n}`,
  )
}

/** From a body and the number of its events to one that is larger; `undefined` where there is nothing to grow. */
type Grow = (body: unknown, count: number) => unknown

const SHAPES: Readonly<Record<string, Grow>> = {
  events: (body) => body,
  'and as much beside them': (body, count) => {
    if (!isPlain(body)) return undefined
    return { ...manyMembers(count), ...(lengthen(body, 'x'.repeat(count * 20)) as object) }
  },
}

/** Signed inside of the body, where more members than any sender has are refused unread. */
const besideInObject: Grow = (body, count) => ({
  beside: manyMembers(count),
  ...(lengthen(body, 'x'.repeat(count * 20)) as object),
})

const OWN_SHAPES: Readonly<Record<string, Readonly<Record<string, Grow>>>> = {
  adyen: { 'and as much beside them': besideInObject },
  microsoft_graph: { 'and as much beside them': besideInObject },
  meta: {
    'of one change, with a contact for each': (_, count) => oneChange(count, (n) => String(n)),
    'of one change, with contacts of one name': (_, count) => oneChange(count, () => '0'),
    'of one entry, and long texts beside them': (_, count) => ({
      object: 'page',
      entry: [
        {
          id: 'x'.repeat(count * 20),
          time: 1,
          messaging: times(count, (n) => ({ message: { mid: `m_${n}` } })),
        },
      ],
    }),
  },
  x: {
    'with users and apps for each': (_, count) => ({
      for_user_id: '1',
      direct_message_events: times(count, (n) => ({
        type: 'message_create',
        id: String(n),
        created_timestamp: '1',
        message_create: { sender_id: String(n), target: { recipient_id: '1' }, source_app_id: '7' },
      })),
      users: Object.fromEntries(times(count, (n) => [String(n), { id: String(n), name: 'Ada' }])),
      apps: { 7: { id: '7', name: 'x'.repeat(count) } },
    }),
    'of as many kinds': (_, count) => ({
      for_user_id: '1',
      ...Object.fromEntries(times(count, (n) => [`a${n}_events`, [{ id_str: '1' }]])),
    }),
  },
}

function oneChange(count: number, wa: (n: number) => string): object {
  return {
    object: 'whatsapp_business_account',
    entry: [
      {
        id: '102290129340398',
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { phone_number_id: '106540352242922' },
              contacts: times(count, (n) => ({ profile: { name: 'Ada' }, wa_id: wa(n) })),
              messages: times(count, (n) => ({ from: wa(n), id: `wamid.${n}`, type: 'text' })),
            },
          },
        ],
      },
    ],
  }
}

function times<T>(count: number, make: (n: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, n) => make(n))
}

function manyMembers(count: number): object {
  return Object.fromEntries(times(count, (n) => [`m${n}`, n]))
}

/** Every text and number that is in no list. */
function lengthen(value: unknown, text: string): unknown {
  if (typeof value === 'string' || typeof value === 'number') return text
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, lengthen(one, text)]))
}

/** An object that is sent as JSON. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !('mandrill_events' in value)
}
