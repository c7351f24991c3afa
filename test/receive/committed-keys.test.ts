import { describe, expect, test } from 'vitest'
import { CommittedKeys } from '../../src/receive/committed-keys.ts'
import type { Beat } from '../../src/store/contract/events.ts'
import { anEventDraft } from '../support/builders.ts'

const BEAT: Beat = { epoch: '1', now: new Date(), died: [], skewMs: 0 }

function open({ max = 10 }: { max?: number } = {}) {
  const keys = new CommittedKeys(max)
  const beat = (change: Partial<Beat> = {}, validMs = 60_000) =>
    keys.confirm({ ...BEAT, ...change }, { askedAt: performance.now(), validMs })
  beat()
  return { keys, beat }
}

describe('the memory of committed keys', () => {
  test('knows a key with the same content', () => {
    const { keys } = open()

    keys.remember(anEventDraft(), 'id-1', '1')

    expect(keys.find(anEventDraft())).toBe('id-1')
  })

  test('does not take other content under the same key for a duplicate', () => {
    const { keys } = open()

    keys.remember(anEventDraft({ body: '1' }), 'id-1', '1')

    expect(keys.find(anEventDraft({ body: '2' }))).toBeUndefined()
  })

  test('R55: does not answer for a signature that no event has claimed yet', () => {
    const { keys } = open()
    const signed = (contentHash: string | undefined) => anEventDraft({ contentHash })

    keys.remember(signed('d'), 'id-1', '1')

    expect(['d', 'e', undefined].map((hash) => keys.find(signed(hash)))).toEqual([
      'id-1',
      undefined,
      'id-1',
    ])
  })

  test('is worth nothing once the heartbeat has stopped', () => {
    const { keys, beat } = open()
    keys.remember(anEventDraft(), 'id-1', '1')

    beat({}, 0)

    expect(keys.find(anEventDraft())).toBeUndefined()
  })

  test('forgets everything when the epoch changes', () => {
    const { keys, beat } = open()
    keys.remember(anEventDraft(), 'id-1', '1')

    beat({ epoch: '2' })

    expect(keys.find(anEventDraft())).toBeUndefined()
  })

  test('does not keep what was stored before the epoch changed', () => {
    const { keys, beat } = open()
    const { epoch } = keys
    beat({ epoch: '2' })

    keys.remember(anEventDraft(), 'id-1', epoch)

    expect(keys.find(anEventDraft())).toBeUndefined()
  })

  test('forgets an event that died, so that its redelivery reaches the store', () => {
    const { keys, beat } = open()
    keys.remember(anEventDraft(), 'id-1', '1')

    beat({ died: ['id-1'] })

    expect(keys.find(anEventDraft())).toBeUndefined()
  })

  test('forgets every key of an event that died, where a sender gave it several', () => {
    const { keys, beat } = open()
    keys.remember(anEventDraft({ key: 'a' }), 'id-1', '1')
    keys.remember(anEventDraft({ key: 'b' }), 'id-1', '1')

    beat({ died: ['id-1'] })

    expect([keys.find(anEventDraft({ key: 'a' })), keys.find(anEventDraft({ key: 'b' }))]).toEqual([
      undefined,
      undefined,
    ])
  })

  test('knows an event again that died, was revived and came once more', () => {
    const { keys, beat } = open()
    keys.remember(anEventDraft(), 'id-1', '1')
    beat({ died: ['id-1'] })

    keys.remember(anEventDraft(), 'id-1', '1')

    expect(keys.find(anEventDraft())).toBe('id-1')
  })

  test('does not use a key of a dead event, however many have died', () => {
    const { keys, beat } = open({ max: 4 })
    keys.remember(anEventDraft(), 'id-1', '1')

    beat({ died: ['id-1', 'id-2', 'id-3', 'id-4', 'id-5', 'id-6'] })

    expect(keys.find(anEventDraft())).toBeUndefined()
  })

  test('drops what was used longest ago when it is full', () => {
    const { keys } = open({ max: 2 })
    keys.remember(anEventDraft({ key: 'a' }), 'a', '1')
    keys.remember(anEventDraft({ key: 'b' }), 'b', '1')
    keys.find(anEventDraft({ key: 'a' }))

    keys.remember(anEventDraft({ key: 'c' }), 'c', '1')

    expect(keys.find(anEventDraft({ key: 'a' }))).toBe('a')
    expect(keys.find(anEventDraft({ key: 'b' }))).toBeUndefined()
  })

  test('remembers nothing when it is turned off', () => {
    const { keys } = open({ max: 0 })

    keys.remember(anEventDraft(), 'id-1', '1')

    expect(keys.find(anEventDraft())).toBeUndefined()
  })
})
