import { expect, test } from 'vitest'
import type { BackfillClient, BackfillEvent } from '../../src/backfill/index.ts'
import { runBackfill } from '../../src/backfill/backfill.ts'
import { HeldEvents } from '../../src/backfill/held-events.ts'

const SINCE = new Date('2026-01-01T00:00:00Z')
const UNTIL = new Date('2026-02-01T00:00:00Z')

function at(key: string, second?: number): BackfillEvent {
  const occurredAt = second === undefined ? undefined : new Date(SINCE.getTime() + second * 1_000)
  return { key, type: 'x', occurredAt, load: async () => ({ headers: {}, body: Buffer.from(key) }) }
}

function orderOf(...listed: readonly BackfillEvent[]): string {
  const held = new HeldEvents()
  for (const event of listed) held.add(event)
  return held
    .takeOldestFirst()
    .map(({ key }) => key)
    .join(' ')
}

test('what happened in the same second is the other way round than it is listed, newest first', () => {
  expect(orderOf(at('d', 2), at('c', 2), at('b', 1), at('a', 1))).toBe('a b c d')
  expect(orderOf(at('c', 1), at('b', 1), at('a', 1))).toBe('a b c')
})

test('a list that begins with the oldest keeps its order', () => {
  expect(orderOf(at('a', 1), at('b', 1), at('c', 2), at('d', 2))).toBe('a b c d')
})

test('an event without a time keeps its place in the list', () => {
  expect(orderOf(at('c', 2), at('b'), at('a', 1))).toBe('a b c')
  expect(orderOf(at('b'), at('a'))).toBe('a b')
})

test('more than can be held is taken in by parts, each oldest first, and the report says so', async () => {
  const pages = Array.from({ length: 101 }, (_, page) =>
    Array.from({ length: 100 }, (_, n) =>
      at(`e${20_000 - page * 100 - n}`, 20_000 - page * 100 - n),
    ),
  )
  let isAway = true
  const from: BackfillClient = {
    list: async ({ cursor = '0' }) => {
      if (cursor === '100' && isAway) throw new Error('the API is away')
      const next = Number(cursor) + 1
      return {
        events: pages[Number(cursor)] ?? [],
        next: next < pages.length ? String(next) : undefined,
      }
    },
  }
  const taken: string[] = []
  const context = {
    isKnown: async (key: string) => taken.includes(key),
    keysIn: ({ body }: { body: Uint8Array }) => [Buffer.from(body).toString()],
    isMissing: async () => true,
    takeIn: async ({ body }: { body: Uint8Array }) => {
      taken.push(Buffer.from(body).toString())
      return true
    },
    matches: () => true,
  }
  const options = { from, since: SINCE, until: UNTIL }

  const stopped = await runBackfill(context, options)

  expect(stopped).toMatchObject({ missing: 10_000, isComplete: false, cursor: '100' })
  expect([taken[0], taken.at(-1)]).toEqual(['e10001', 'e20000'])
  isAway = false
  const rest = await runBackfill(context, { ...options, cursor: '100' })
  expect(rest).toMatchObject({ missing: 100, isComplete: true, isInOrder: false })
  expect([taken[10_000], taken.at(-1)]).toEqual(['e9901', 'e10000'])
  taken.length = 0
  expect(await runBackfill(context, options)).toMatchObject({ missing: 10_100, isInOrder: false })
})

test('one that is broken off within a page goes on with that page', async () => {
  const abort = new AbortController()
  const pages: Record<string, readonly BackfillEvent[]> = {
    first: [at('a', 1), at('b', 2)],
    second: [at('c', 3)],
  }
  const from: BackfillClient = {
    list: async ({ cursor = 'first' }) => ({
      events: pages[cursor] ?? [],
      next: cursor === 'first' ? 'second' : undefined,
    }),
  }
  const looked: string[] = []
  const context = {
    isKnown: async (key: string) => {
      looked.push(key)
      if (looked.length === 1) abort.abort(new Error('enough'))
      return true
    },
    keysIn: () => [],
    isMissing: async () => false,
    takeIn: async () => false,
    matches: () => true,
  }
  const terms = { from, since: SINCE, until: UNTIL }

  const broken = await runBackfill(context, { ...terms, cursor: 'first', signal: abort.signal })
  const whole = await runBackfill(context, { ...terms, cursor: broken.cursor ?? '' })

  expect(broken).toMatchObject({ cursor: 'first', stoppedBy: 'enough' })
  expect(whole.isComplete).toBe(true)
  expect(new Set(looked)).toEqual(new Set(['a', 'b', 'c']))
})
