import { describe, expect, test } from 'vitest'
import { lastTopicBeside, topicOf } from '../../src/model/topic.ts'
import type { Topic } from '../../src/model/topic.ts'
import { LookOrder } from '../../src/work/look-order.ts'

const PAGE = 256

describe('the order of looks', () => {
  test('begins at the first topic, and again when all fit on one page', () => {
    const order = new LookOrder()
    expect(order.after).toBe(-1)

    order.seen(undefined)

    expect(order.after).toBe(-1)
    expect(order.isWhole).toBe(true)
  })

  test('comes to every source before the second page of any', () => {
    const sources = Array.from({ length: 5 }, (_, source) => topicsOf(`source-${source}`, 1_000))
    const order = new LookOrder()
    const seen = new Set<Topic>()

    const looks = untilAllSeen(order, sources, seen, (topics) =>
      topics.some((topic) => seen.has(topic)),
    )

    expect(looks).toBeLessThanOrEqual(sources.length + 1)
  })

  test('comes to all topics of all sources', () => {
    const sources = [
      topicsOf('large', 1_000),
      topicsOf('small', 3),
      topicsOf('larger', 2_000),
      topicsOf('exact', PAGE),
    ]
    const order = new LookOrder()
    const seen = new Set<Topic>()
    const all = sources.flat()

    let looks = 0
    do {
      look(order, all, seen)
      looks += 1
    } while (!order.isWhole && looks < 1_000)

    expect(order.isWhole).toBe(true)
    expect(seen.size).toBe(all.length)
  })

  test('comes to what is new in another source soon, however many types are still to be seen', () => {
    const large = topicsOf('large', 5_000)
    const order = new LookOrder()
    for (let looks = 0; looks < 10; looks += 1) look(order, large, new Set())
    const quiet = topicOf('quiet', 'invoice.paid')

    const seen = new Set<Topic>()
    const looks = untilAllSeen(order, [[...large, quiet]], seen, () => seen.has(quiet))

    expect(looks).toBeLessThanOrEqual(3)
  })
})

describe('the topics of a source', () => {
  test('lie side by side', () => {
    const [one, two] = ['one', 'two'].map((source) => topicsOf(source, 1_000)) as [Topic[], Topic[]]

    expect(new Set(one.map(lastTopicBeside)).size).toBe(1)
    expect(lastTopicBeside(one[0]!)).not.toBe(lastTopicBeside(two[0]!))
    expect(Math.max(...one)).toBeLessThanOrEqual(lastTopicBeside(one[0]!))
    expect(new Set(one).size).toBe(one.length)
  })

  test('are numbers that JavaScript and both engines hold exactly', () => {
    const topics = [...topicsOf('one', 100), lastTopicBeside(topicOf('two', ''))]

    expect(topics.filter((topic) => !Number.isSafeInteger(topic) || topic < 0)).toEqual([])
  })
})

function topicsOf(source: string, count: number): Topic[] {
  return Array.from({ length: count }, (_, type) => topicOf(source, `type.${type}`))
}

/** As a store answers. */
function look(order: LookOrder, topics: readonly Topic[], seen: Set<Topic>): void {
  const { after } = order
  const page = topics.filter((topic) => topic > after).sort((one, other) => one - other)
  for (const topic of page.slice(0, PAGE)) seen.add(topic)
  order.seen(page.length >= PAGE ? page[PAGE - 1] : undefined)
}

/** How many looks it took. */
function untilAllSeen(
  order: LookOrder,
  sources: readonly (readonly Topic[])[],
  seen: Set<Topic>,
  isSeen: (topics: readonly Topic[]) => boolean,
): number {
  let looks = 0
  while (!sources.every(isSeen) && looks < 1_000) {
    look(order, sources.flat(), seen)
    looks += 1
  }
  return looks
}
