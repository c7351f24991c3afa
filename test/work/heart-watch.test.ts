import { describe, expect, test } from 'vitest'
import type { Heart } from '../../src/store/contract/workers.ts'
import { HeartWatch } from '../../src/work/heart-watch.ts'

const ME = 'me'
const OTHER = 'other'
const DEAD_AFTER_MS = 10_000
const LOOK_MS = 2_000

describe('watching hearts', () => {
  test('C24: a heart that stands still is found to have stopped after deadAfterMs, and not before', () => {
    const watch = createWatch()

    const found = [0, 1, 2, 3, 4, 5].map((i) => watch.lookAt(i * LOOK_MS, { other: 'same' }))

    expect(found).toEqual([[], [], [], [], [], [OTHER]])
  })

  test('C24: looks that come a little early cost one look more, and no more', () => {
    const watch = createWatch()

    const found = [0, 1, 2, 3, 4, 5, 6].map((i) =>
      watch.lookAt(i * (LOOK_MS - 1), { other: 'same' }),
    )

    expect(found.flat()).toEqual([OTHER])
  })

  test('C24: a heart that moves in time is never dead, however rarely it is looked at', () => {
    const watch = createWatch()

    const found = Array.from({ length: 50 }, (_, i) =>
      watch.lookAt(i * LOOK_MS, { other: `beat ${Math.floor(i / 4)}` }),
    )

    expect(found.flat()).toEqual([])
  })

  test('C24: an outage kills no worker: those that come back have all the time again', () => {
    const watch = createWatch()
    for (let i = 0; i < 5; i += 1) watch.lookAt(i * LOOK_MS, { other: 'same' })

    watch.fail()
    const back = 5 * LOOK_MS + 60_000
    const found = [0, 1, 2, 3, 4, 5].map((i) => watch.lookAt(back + i * LOOK_MS, { other: 'same' }))

    expect(found).toEqual([[], [], [], [], [], [OTHER]])
  })

  test('C24: a look that was held up counts for one look, however long it took', () => {
    const watch = createWatch()
    watch.lookAt(0, { other: 'same' })

    expect(watch.lookAt(3_600_000, { other: 'same' })).toEqual([])
    const found = [1, 2, 3, 4].map((i) => watch.lookAt(3_600_000 + i * LOOK_MS, { other: 'same' }))
    expect(found).toEqual([[], [], [], [OTHER]])
  })

  test('C24: while the watcher itself cannot beat, no worker dies', () => {
    const watch = createWatch()

    const found = Array.from({ length: 50 }, (_, i) =>
      watch.lookAt(i * LOOK_MS, { mine: 'stuck', other: 'same' }),
    )
    expect(found.flat()).toEqual([])

    const after = [0, 1, 2, 3, 4].map((i) =>
      watch.lookAt((50 + i) * LOOK_MS, { mine: `moves ${i}`, other: 'same' }),
    )
    expect(after).toEqual([[], [], [], [], [OTHER]])
  })

  test('C24: without a record of its own it takes no worker for dead', () => {
    const watch = new HeartWatch(ME, { deadAfterMs: DEAD_AFTER_MS, isBrief: false })

    for (let i = 0; i < 50; i += 1)
      expect(watch.look([heart(OTHER, 'same')], i * LOOK_MS)).toEqual([])
  })

  test('a worker that is known to be gone is found at the first look, and the watcher itself never', () => {
    const watch = new HeartWatch(ME, { deadAfterMs: DEAD_AFTER_MS, isBrief: false })

    const found = watch.look([
      { ...heart(ME, 'any'), isGone: true },
      { ...heart(OTHER, 'any'), isGone: true },
    ])

    expect(found.map(({ workerId }) => workerId)).toEqual([OTHER])
  })

  test('a worker that stays dead is found at every look, until its record is gone', () => {
    const watch = createWatch()
    for (let i = 0; i < 6; i += 1) watch.lookAt(i * LOOK_MS, { other: 'same' })

    expect(watch.lookAt(6 * LOOK_MS, { other: 'same' })).toEqual([OTHER])
    expect(watch.lookAt(7 * LOOK_MS, {})).toEqual([])
    expect(watch.lookAt(8 * LOOK_MS, { other: 'same' })).toEqual([])
  })
})

describe('watching hearts for moments', () => {
  const brief = () => new HeartWatch(ME, { deadAfterMs: DEAD_AFTER_MS, isBrief: true })
  const still = (beat: string, stillMs: number) => ({ ...heart(OTHER, beat), stillMs })

  test('C24: a heart that has stood still for long is suspected at the first look, and dead at the second', () => {
    const watch = brief()

    expect(watch.look([heart(ME, '1'), still('same', 60_000)], 0)).toEqual([])
    expect(watch.hasSuspect).toBe(true)
    const found = watch.look([heart(ME, '2'), still('same', 61_000)], 1_000)
    expect(found.map(({ workerId }) => workerId)).toEqual([OTHER])
    expect(watch.hasSuspect).toBe(false)
  })

  test('C24: one that beats between the looks lives', () => {
    const watch = brief()

    watch.look([heart(ME, '1'), still('before the outage', 60_000)], 0)
    expect(watch.look([heart(ME, '2'), still('after it', 10)], 1_000)).toEqual([])
    expect(watch.hasSuspect).toBe(false)
  })

  test('C24: while the watcher itself cannot beat, no worker dies', () => {
    const watch = brief()

    watch.look([heart(ME, 'stuck'), still('same', 60_000)], 0)
    expect(watch.look([heart(ME, 'stuck'), still('same', 70_000)], 10_000)).toEqual([])
  })

  test('C24: a clock that was set back makes no worker older', () => {
    const watch = brief()

    watch.look([heart(ME, '1'), still('same', -60_000)], 0)
    expect(watch.hasSuspect).toBe(false)
    expect(watch.look([heart(ME, '2'), still('same', -59_000)], 1_000)).toEqual([])
  })
})

function heart(workerId: string, beat: string): Heart {
  return { workerId, beat, stillMs: 0, isGone: false }
}

/** One whose own heart beats, unless told otherwise. */
function createWatch() {
  const watch = new HeartWatch(ME, { deadAfterMs: DEAD_AFTER_MS, isBrief: false })
  return {
    lookAt: (now: number, { mine = `at ${now}`, other }: { mine?: string; other?: string }) => {
      const hearts = [heart(ME, mine), ...(other === undefined ? [] : [heart(OTHER, other)])]
      return watch.look(hearts, now).map(({ workerId }) => workerId)
    },
    fail: () => watch.beginAnew(),
  }
}
