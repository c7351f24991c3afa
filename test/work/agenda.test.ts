import { describe, expect, test } from 'vitest'
import { topicOf } from '../../src/model/topic.ts'
import type { DueKind, DueTopic } from '../../src/store/contract/queue.ts'
import { Agenda } from '../../src/work/agenda.ts'
import type { Plan } from '../../src/work/agenda.ts'
import { GroupSizes } from '../../src/work/group/group-sizes.ts'
import { HandlerRegistry } from '../../src/work/handler-registry.ts'
import { resolveWorkerOptions } from '../../src/work/options.ts'
import type { WorkerOptions } from '../../src/work/options.ts'
import { TopicHealth } from '../../src/work/topic-health.ts'

/** In this turn what is fresh comes first. */
const FRESH = 1
const AGAIN = 0

/** The handlers of all types that begin with "many." are the same. */
const MANY = 'many.*'

function due(type: string, kind: DueKind = 'fresh', source = 'stripe'): DueTopic {
  return { kind, topic: topicOf(source, type), source, type }
}

function open(options: WorkerOptions = {}) {
  const handlers = new HandlerRegistry(new Set(['stripe', 'github']))
  for (const type of ['a', 'b', 'c']) handlers.add('stripe', type, {}, () => undefined)
  handlers.add('stripe', MANY, {}, () => undefined)
  handlers.add('stripe', 'ping', { guarantee: 'at-least-once' }, () => undefined)
  handlers.addSteps('stripe', 'steps', {}, () => undefined)
  handlers.add('github', '*', {}, () => undefined)
  const resolved = resolveWorkerOptions(options)
  const sizes = new GroupSizes(resolved)
  const health = new TopicHealth({ slowMs: resolved.groupBudgetMs })
  const found: DueTopic[] = []
  let foreign = 0
  let looks = 0
  const next = { inMs: undefined as number | undefined, topic: undefined as number | undefined }
  const agenda = new Agenda({
    handlers,
    options: resolved,
    sizes,
    health,
    look: async () => {
      looks += 1
      // All that is due has an end.
      return { due: [...found], nextDueInMs: next.inMs, next: looks < 9 ? next.topic : undefined }
    },
    isPaused: () => false,
    stepRoom: (_due, promised) => Math.max(0, 10 - promised),
    onFound: () => undefined,
    onForeign: () => (foreign += 1),
    onError: (error) => {
      throw error
    },
  })
  const planned = (turn = FRESH) => typesOf(agenda.next(turn))
  const ran = (type: string, { durationMs = 1, failed = false } = {}) => {
    const { topic, source } = due(type)
    const unit = handlers.findUnit(source, type)?.name ?? ''
    health.ran(topic, { unit, durationMs, failed })
  }
  return {
    agenda,
    handlers,
    sizes,
    health,
    found,
    next,
    planned,
    ran,
    countForeign: () => foreign,
    countLooks: () => looks,
  }
}

function typesOf(plan: Plan | undefined): readonly string[] {
  return plan?.topics.map(({ due: { type } }) => type) ?? []
}

describe('the agenda', () => {
  test('has nothing to do as long as nothing is due', () => {
    expect(open().planned()).toEqual([])
  })

  test('shares the slots between topics', () => {
    const { agenda, planned } = open()
    agenda.add(due('a'))
    agenda.add(due('b'))

    expect([planned(), planned()].flat().sort()).toEqual(['a', 'b'])
  })

  test('keeps the last slot for a topic that has none', () => {
    const { agenda, planned, ran } = open({ concurrency: 3, reserved: 1 })
    ran('a')
    agenda.add(due('a'))
    expect([planned(), planned(), planned()]).toEqual([['a'], ['a'], ['a']])
    expect(planned()).toEqual([])

    agenda.add(due('b'))

    expect(planned()).toEqual(['b'])
  })

  test('leaves a slot to another type while none of the first has ended, and keeps the last one', () => {
    const { agenda, planned, ran } = open({ concurrency: 3, reserved: 1 })
    agenda.add(due('a'))
    expect([planned(), planned(), planned()]).toEqual([['a'], ['a'], []])

    agenda.add(due('b'))
    expect([planned(), planned()]).toEqual([['b'], []])

    ran('b')
    agenda.add(due('c'))
    expect(planned()).toEqual(['c'])
  })

  test('gives the last slot to no further type of handlers of which none has ended', () => {
    const { agenda, planned } = open({ concurrency: 3, reserved: 1 })
    for (let type = 0; type < 10; type += 1) agenda.add(due(`many.${type}`))
    expect([planned(), planned()].flat()).toHaveLength(2)
    expect(planned()).toEqual([])

    agenda.add(due('a'))

    expect(planned()).toEqual(['a'])
  })

  test('gives the last slot to none of them beside another one that runs, either', () => {
    const { agenda, planned, ran } = open({ concurrency: 3, reserved: 1 })
    ran('a')
    agenda.add(due('a'))
    expect([planned(), planned()]).toEqual([['a'], ['a']])

    for (let type = 0; type < 10; type += 1) agenda.add(due(`many.${type}`))

    expect(planned()).toHaveLength(1)
    expect(planned()).toEqual([])
  })

  test('gives the last slot to no further handler of a source of which none has ended', () => {
    const { agenda, planned } = open({ concurrency: 3, reserved: 1 })
    for (const type of ['a', 'b', 'c', 'many.0']) agenda.add(due(type))
    expect([planned(), planned(), planned()].flat()).toHaveLength(3)
    expect(planned()).toEqual([])

    agenda.add(due('quiet', 'fresh', 'github'))

    expect(planned()).toEqual(['quiet'])
  })

  test('leaves no source out because another has types without end', () => {
    const { agenda, planned } = open({ concurrency: 3, reserved: 1 })
    for (let type = 0; type < 5_000; type += 1) agenda.add(due(`many.${type}`))
    expect([planned(), planned(), planned()].flat()).toHaveLength(2)

    expect(agenda.add(due('a'))).toBe(true)
    expect(agenda.add(due('quiet', 'fresh', 'github'))).toBe(true)

    expect([planned(), planned()].flat().sort()).toEqual(['a', 'quiet'])
  })

  test('gives each of a handler’s many types its turn', () => {
    const { agenda, ran } = open({ concurrency: 3, reserved: 1, groupMax: 1 })
    const all = Array.from({ length: 100 }, (_, type) => `many.${type}`)
    for (const type of all) {
      ran(type)
      agenda.add(due(type))
    }
    const seen = new Set<string>()
    for (const _ of all) {
      const plan = agenda.next(FRESH)!
      for (const type of typesOf(plan)) seen.add(type)
      agenda.ended(plan, { events: plan.topics, ranMs: 1 })
    }

    expect(seen.size).toBe(all.length)
  })

  test('gives the last slot to a type that is known to run well, whatever others of its handlers do', () => {
    const { agenda, planned, ran } = open({ concurrency: 3, reserved: 1 })
    ran('many.good')
    for (let type = 0; type < 3; type += 1) agenda.add(due(`many.${type}`))
    for (let slot = 0; slot < 3; slot += 1) planned()

    agenda.add(due('many.good'))

    expect(planned()).toEqual(['many.good'])
  })

  test('gives the last slot to no new type whose handlers hang with most types', () => {
    const { agenda, planned, ran } = open({ concurrency: 3, reserved: 1 })
    for (let type = 0; type < 3; type += 1) {
      ran(`many.${type}`, { durationMs: 10_000, failed: true })
      agenda.add(due(`many.${type}`))
    }
    for (let slot = 0; slot < 3; slot += 1) planned()

    agenda.add(due('many.new'))

    expect(planned()).toEqual([])
  })

  test('takes few events at once of a topic that fails', () => {
    const { agenda, ran, sizes } = open()
    const { topic } = due('a')
    sizes.measured(topic, 0.1)
    for (let group = 0; group < 20; group += 1) sizes.succeeded(topic, 1_000)
    agenda.add(due('a'))
    const many = agenda.next(FRESH)?.topics[0]?.limit ?? 0

    for (let run = 0; run < 9; run += 1) ran('a', { durationMs: 0.1, failed: true })
    const few = agenda.next(FRESH)?.topics[0]?.limit ?? 0

    expect(many).toBeGreaterThan(10)
    expect(few).toBe(10)
  })

  test('gives the last slot to no topic that fails, hangs or is slow, and to nothing that failed before', () => {
    const { agenda, ran, planned } = open({ concurrency: 3, reserved: 1 })
    ran('a')
    agenda.add(due('a'))
    for (let slot = 0; slot < 3; slot += 1) planned()
    for (let run = 0; run < 9; run += 1) ran('b', { failed: true })
    ran('c', { durationMs: 10_000 })

    agenda.add(due('b'))
    agenda.add(due('c'))
    agenda.add(due('c', 'again'))

    expect(planned()).toEqual([])
    expect(planned(AGAIN)).toEqual([])
  })

  test('gives all slots to one topic where none are reserved', () => {
    const { agenda, planned } = open({ concurrency: 4, reserved: 0 })
    agenda.add(due('a'))

    expect(Array.from({ length: 4 }, () => planned())).toEqual([['a'], ['a'], ['a'], ['a']])
  })

  test('forgets a topic of which nothing could be claimed, and takes it up again when told', () => {
    const { agenda, planned } = open()
    agenda.add(due('a'))
    const plan = agenda.next(FRESH) as Plan
    agenda.ended(plan, { events: [], ranMs: 1 })
    expect(planned()).toEqual([])

    expect(agenda.add(due('a'))).toBe(true)

    expect(planned()).toEqual(['a'])
  })

  test('looks again at a topic whose events it has run, since there may be more', () => {
    const { agenda, planned } = open()
    agenda.add(due('a'))
    const plan = agenda.next(FRESH) as Plan
    agenda.claimed(plan, [])
    agenda.ended(plan, { events: [{ topic: due('a').topic }], ranMs: 1 })

    expect(planned()).toEqual(['a'])
  })

  test('lets topics with few events share a group, and no other', () => {
    const { agenda, sizes, ran, planned } = open()
    for (const type of ['a', 'b', 'c', 'ping']) {
      sizes.measured(due(type).topic, 1)
      ran(type)
      agenda.add(due(type))
    }
    agenda.add(due('steps'))
    for (let run = 0; run < 9; run += 1) ran('c', { failed: true })

    const plans = Array.from({ length: 3 }, () => planned())

    expect(
      plans.filter((types) => types.includes('a')).every((types) => !types.includes('ping')),
    ).toBe(true)
    expect(plans.find((types) => types[0] === 'a' || types[0] === 'b')).toHaveLength(2)
    for (const types of plans.filter((each) => each.length > 1))
      expect(types.slice(1)).not.toContain('c')
  })

  test('lets no type share a group of which it is not known how it runs, or that hangs', () => {
    const { agenda, ran, handlers, planned } = open({ concurrency: 8 })
    handlers.add('stripe', 'pong', { guarantee: 'at-least-once' }, () => undefined)
    handlers.add('stripe', 'hang', { guarantee: 'at-least-once' }, () => undefined)
    ran('ping')
    ran('hang', { durationMs: 10_000, failed: true })
    for (const type of ['ping', 'pong', 'hang']) agenda.add(due(type))

    expect(Array.from({ length: 3 }, () => planned())).toEqual([['ping'], ['pong'], ['hang']])
  })

  test('leases no more events of step handlers than there is room for, however many slots ask', () => {
    const { agenda } = open()
    agenda.add(due('steps'))
    agenda.add(due('steps', 'leasable'))

    const plans = [agenda.next(FRESH), agenda.next(FRESH), agenda.next(2)]

    const limits = plans.flatMap((plan) => plan?.topics.map(({ limit }) => limit) ?? [])
    expect(limits).toEqual([10])
  })

  test('leaves alone what it has no handler for, until it has', () => {
    const { agenda, handlers, planned, countForeign } = open()
    agenda.add(due('unknown'))
    expect(planned()).toEqual([])
    expect(countForeign()).toBe(1)

    handlers.add('stripe', 'unknown', {}, () => undefined)
    agenda.handlersChanged()

    expect(planned()).toEqual(['unknown'])
    expect(agenda.takeForeign()).toEqual([])
  })

  test('finds by a look what it was not told of', async () => {
    const { agenda, found, planned } = open()
    found.push(due('a'), due('unknown', 'again'))

    expect(await agenda.lookAround()).toBe(0)

    expect(planned()).toEqual(['a'])
    expect(agenda.takeForeign()).toMatchObject([{ type: 'unknown', kind: 'again' }])
  })

  test('does not look for a slot that is kept free, as often as the busy ones claim', async () => {
    const { agenda, found, planned, countLooks } = open({ concurrency: 1, reserved: 1 })
    found.push(due('a'))
    await agenda.lookAround()
    planned()
    found.length = 0

    expect(await agenda.lookAround()).toBeGreaterThan(0)
    expect(await agenda.lookAround()).toBeGreaterThan(0)

    expect(countLooks()).toBe(1)
  })

  test('does not walk through all topics for such a slot', async () => {
    const { agenda, found, next, planned, countLooks } = open({ concurrency: 1, reserved: 1 })
    found.push(due('a'))
    await agenda.lookAround()
    planned()
    next.topic = due('a').topic
    agenda.lookSoon()

    expect(await agenda.lookAround()).toBeGreaterThan(0)

    expect(countLooks()).toBe(2)
  })

  test('looks for it when there is word of a change', async () => {
    const { agenda, found, planned, countLooks } = open({ concurrency: 1, reserved: 1 })
    found.push(due('a'))
    await agenda.lookAround()
    planned()

    agenda.lookSoon()
    found.push(due('b'))

    expect(await agenda.lookAround()).toBe(0)
    expect(countLooks()).toBe(2)
  })

  test('looks again when word of a change came during a look, which may not have seen it', async () => {
    const { agenda, found, planned, countLooks } = open()
    const looking = agenda.lookAround()
    agenda.lookSoon()
    // The first look has its answer by now, and what is due since then is not in it.
    queueMicrotask(() => found.push(due('a')))

    expect(await looking).toBe(0)
    expect(countLooks()).toBe(2)
    expect(planned()).toEqual(['a'])
  })

  test('H45: has one suspect run at a time, and forgets none that is next', () => {
    const { agenda, planned } = open()
    for (const type of ['a', 'b']) agenda.add(due(type, 'suspect'))

    const plan = agenda.next(FRESH)!
    expect(planned()).toEqual([])
    agenda.claimed(plan, [{ topic: due('a').topic }])
    agenda.ended(plan, { events: [{ topic: due('a').topic }], ranMs: 50 })

    expect(typesOf(plan)).toEqual(['a'])
    expect(planned()).toEqual(['b'])
  })

  test('looks for it when an event is due that was seen before', async () => {
    const { agenda, found, next, planned, countLooks } = open({ concurrency: 1, reserved: 1 })
    found.push(due('a'))
    next.inMs = 0
    await agenda.lookAround()
    planned()

    await agenda.lookAround()

    expect(countLooks()).toBe(2)
  })

  test('looks for a slot that is free when no other is busy', async () => {
    const { agenda, found, countLooks } = open({ concurrency: 1, reserved: 1 })
    found.push(due('a'))
    await agenda.lookAround()
    const plan = agenda.next(FRESH)!
    agenda.ended(plan, { events: [], ranMs: 1 })

    await agenda.lookAround()

    expect(countLooks()).toBe(2)
  })
})
