import { describe, expect, test } from 'vitest'
import { HistoryWatch } from '../../src/receive/history-watch.ts'
import type { EventId, Recorded } from '../../src/model/event.ts'
import type { Beat } from '../../src/store/contract/events.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import type { Happenings } from '../../src/telemetry/happenings.ts'
import { anEventDraft } from '../support/builders.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { recordOne } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'

const GONE = '019a0000-0000-7000-8000-000000000000'

describe('after a restart of the database', () => {
  test('P08: an event that this process has stored and that is gone tells that it went back, once', async () => {
    const { watch, told, paused, eventId } = await createWatch()
    await watch.check(beat({ startedAt: 'first' }))
    watch.recorded([stored(eventId), stored(GONE)])

    await watch.check(beat({ startedAt: 'second' }))
    await watch.check(beat({ startedAt: 'third' }))

    expect(told).toMatchObject([{ missing: 1, checked: 2 }])
    expect(paused).toHaveLength(1)
  })

  test('P08: events that were there after one restart are looked for after the next', async () => {
    const { watch, told, eventId, removeEvents } = await createWatch()
    await watch.check(beat({ startedAt: 'first' }))
    watch.recorded([stored(eventId)])
    await watch.check(beat({ startedAt: 'second' }))

    await removeEvents()
    await watch.check(beat({ startedAt: 'third' }))

    expect(told).toMatchObject([{ missing: 1, checked: 1 }])
  })

  test('nothing is told where everything is there', async () => {
    const { watch, told, paused, eventId } = await createWatch()
    await watch.check(beat({ startedAt: 'first' }))
    watch.recorded([stored(eventId)])

    await watch.check(beat({ startedAt: 'second' }))

    expect([told, paused]).toEqual([[], []])
  })

  test('nothing is told of what may have been forgotten or pruned', async () => {
    const { watch, told } = await createWatch()
    await watch.check(beat({ startedAt: 'first' }))
    watch.recorded([stored(GONE)])

    await watch.check(beat({ startedAt: 'second', drops: 'other' }))

    expect(told).toEqual([])
  })

  test('nothing is looked for while it is the same server', async () => {
    const { watch, told } = await createWatch()
    await watch.check(beat({ startedAt: 'first' }))
    watch.recorded([stored(GONE)])

    await watch.check(beat({ startedAt: 'first' }))

    expect(told).toEqual([])
  })
})

async function createWatch() {
  const { store, database } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const { eventId } = await recordOne(store, anEventDraft())
  const happenings = new HappeningEmitter()
  const told: Happenings['store.went-back'][] = []
  happenings.on('store.went-back', (happening) => void told.push(happening))
  const paused: string[] = []
  const pauseSending = async (reason: string): Promise<void> => void paused.push(reason)
  return {
    watch: new HistoryWatch({ store, happenings, pauseSending }),
    ...{ told, paused, eventId },
    removeEvents: () => database.query('delete from hookonce_events'),
  }
}

function stored(eventId: EventId): Recorded {
  return { status: 'accepted', eventId }
}

function beat({ startedAt, drops = '' }: { startedAt: string; drops?: string }): Beat {
  const history = { id: 'one', isReplicated: false, rewinds: 0, startedAt, drops, kept: undefined }
  return { epoch: '', now: new Date(), died: [], skewMs: 0, history }
}
