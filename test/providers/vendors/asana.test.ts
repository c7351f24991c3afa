import { expect, test } from 'vitest'
import { asana } from '../../../src/providers/index.ts'
import { delivery } from '../signed-sources.ts'

const source = asana({ secrets: ['b537207f20cbfa02357cf448134da559'] })
const keysOf = (events: readonly object[]) =>
  source.identify(delivery({}, JSON.stringify({ events }))).map(({ key }) => key)

const EVENT = {
  user: { gid: '1', resource_type: 'user' },
  created_at: '2025-10-09T08:53:20.000Z',
  action: 'changed',
  resource: { gid: '2', resource_type: 'task' },
  parent: { gid: '3', resource_type: 'section' },
  change: { field: 'followers', action: 'added', added_value: { gid: '4' } },
}

test('asana’s events are two where they differ in anything that tells them apart', () => {
  const others = [
    { ...EVENT, user: { gid: '9' } },
    { ...EVENT, user: null },
    { ...EVENT, created_at: '2025-10-09T08:53:20.001Z' },
    { ...EVENT, action: 'added' },
    { ...EVENT, resource: { gid: '9', resource_type: 'task' } },
    { ...EVENT, parent: { gid: '9' } },
    { ...EVENT, parent: null },
    { ...EVENT, change: undefined },
    { ...EVENT, change: { ...EVENT.change, field: 'assignee' } },
    { ...EVENT, change: { ...EVENT.change, action: 'removed' } },
    { ...EVENT, change: { ...EVENT.change, added_value: { gid: '9' } } },
    { ...EVENT, change: { field: 'followers', action: 'added', removed_value: { gid: '4' } } },
    { ...EVENT, change: { field: 'followers', action: 'added', new_value: { gid: '4' } } },
  ]
  const keys = keysOf([EVENT, ...others])

  expect(new Set(keys).size).toBe(others.length + 1)
  expect(keys).not.toContain(undefined)
})

test('asana’s event is one whatever it is grouped with', () => {
  expect(keysOf([EVENT])[0]).toBe(keysOf([{ ...EVENT, action: 'added' }, EVENT])[1])
})

test('asana’s event without a resource, an action or a time has no key, rather than a shared one', () => {
  const { resource: _1, ...a } = EVENT
  const { action: _2, ...b } = EVENT
  const { created_at: _3, ...c } = EVENT

  expect(keysOf([a, b, c])).toEqual([undefined, undefined, undefined])
})

test('asana’s heartbeat is no event', () => {
  expect(keysOf([])).toEqual([])
})
