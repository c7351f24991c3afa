import { describe, expect, test } from 'vitest'
import { topicOf } from '../../src/model/topic.ts'
import type { DueTopic } from '../../src/store/contract/queue.ts'
import { DueTopics } from '../../src/work/due-topics.ts'
import { HandlerRegistry } from '../../src/work/handler-registry.ts'

const MANY = 5_000

describe('the topics that have something due', () => {
  test('are kept for each handler, however many types another one gets', () => {
    const { topics } = open()
    for (let type = 0; type < MANY; type += 1) topics.add(due('stripe', `many.${type}`))

    expect(topics.add(due('stripe', 'invoice.paid'))).toBe(true)
    expect(topics.add(due('github', 'push'))).toBe(true)
    expect(topics.listByUnit('fresh')).toHaveLength(3)
  })

  test('are bounded', () => {
    const { topics } = open()
    for (let type = 0; type < MANY; type += 1) topics.add(due('stripe', `many.${type}`))
    for (let type = 0; type < MANY; type += 1) topics.add(due('unknown', `many.${type}`))

    const kept = topics.listByUnit('fresh').flatMap((each) => [...each])

    expect(kept.length).toBeLessThan(MANY / 10)
    expect(topics.takeForeign().length).toBeLessThan(MANY / 10)
  })

  test('without a handler are kept for each source', () => {
    const { topics } = open()
    for (let type = 0; type < MANY; type += 1) topics.add(due('unknown', `many.${type}`))

    topics.add(due('stripe', 'charge.paid'))

    expect(topics.takeForeign()).toContainEqual(due('stripe', 'charge.paid'))
    expect(topics.hasForeign).toBe(false)
  })

  test('come in the order in which they were taken', () => {
    const { topics } = open()
    for (const type of ['many.a', 'many.b', 'many.c']) topics.add(due('stripe', type))
    const list = () => topics.listByUnit('fresh').flatMap((each) => [...each])

    topics.moveBack(list()[0]!)

    expect(list().map(({ type }) => type)).toEqual(['many.b', 'many.c', 'many.a'])
  })

  test('are known once, until they are removed', () => {
    const { topics } = open()
    const paid = due('stripe', 'invoice.paid')
    expect([topics.add(paid), topics.add(paid)]).toEqual([true, false])

    for (const own of topics.listByUnit('fresh').flatMap((each) => [...each])) topics.remove(own)

    expect(topics.listByUnit('fresh')).toEqual([])
    expect(topics.add(paid)).toBe(true)
  })

  test('are found anew when handlers are added', () => {
    const { topics, handlers } = open()
    topics.add(due('stripe', 'charge.paid'))
    topics.add(due('stripe', 'invoice.paid'))
    handlers.add('stripe', '*', { name: 'all' }, () => undefined)

    topics.handlersChanged()

    const units = topics.listByUnit('fresh').flatMap((each) => [...each].map(({ unit }) => unit))
    expect(units.map(({ handlers: { length } }) => length).sort()).toEqual([1, 2])
    expect(topics.hasForeign).toBe(false)
  })
})

function open() {
  const handlers = new HandlerRegistry(new Set(['stripe', 'github']))
  handlers.add('stripe', 'many.*', {}, () => undefined)
  handlers.add('stripe', 'invoice.paid', {}, () => undefined)
  handlers.add('github', '*', {}, () => undefined)
  return { handlers, topics: new DueTopics(handlers) }
}

function due(source: string, type: string): DueTopic {
  return { kind: 'fresh', topic: topicOf(source, type), source, type }
}
