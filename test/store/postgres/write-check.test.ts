import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { StoreRejectedError } from '../../../src/errors.ts'
import type { EventDraft } from '../../../src/model/event.ts'
import { StoreHealth } from '../../../src/receive/store-health.ts'
import { WriteCheck } from '../../../src/receive/write-check.ts'
import { HappeningEmitter } from '../../../src/telemetry/emitter.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'

/** As for a row for which there is never enough memory. */
const REFUSE_POISON = `
  create function refuse_poison() returns trigger language plpgsql as $$
    begin
      raise 'out of memory' using errcode = '53200';
    end $$;
  create trigger refuse_poison before insert on hookonce.events_default
    for each row when (new.source = 'poison') execute function refuse_poison();
  do $$
    declare part text;
    begin
      for part in select inhrelid::regclass::text from pg_inherits
                   where inhparent = 'hookonce.events'::regclass and inhrelid <> 'hookonce.events_default'::regclass
      loop
        execute 'create trigger refuse_poison before insert on ' || part ||
                ' for each row when (new.source = ''poison'') execute function refuse_poison()';
      end loop;
    end $$`

describe.skipIf(hasNoPostgres)('an event that cannot be recorded', () => {
  test('R71: keeps a receiver out of work for a minute, and not for ever', async () => {
    const { check, health, told, recordFails, passSeconds } = await openCheck()
    const poison = anEventDraft({ source: 'poison' })

    await recordFails(poison)
    expect(health.isUp).toBe(false)
    await passSeconds(30)
    expect(health.isUp).toBe(false)
    await passSeconds(40)

    expect(health.isUp).toBe(true)
    // That it works again is told when it was seen to.
    expect(told).toEqual(['store.unavailable'])
    await recordFails(poison)
    expect(health.isUp).toBe(false)
    check.recorded()
    expect(health.isUp).toBe(true)
    expect(told).toEqual(['store.unavailable', 'store.available'])
  })

  test('R71: is recorded when it can be, also if its sender never comes again', async () => {
    const { store, query, health, told, recordFails, passSeconds } = await openCheck()
    await recordFails(anEventDraft({ source: 'poison' }))
    await passSeconds(2)
    expect(health.isUp).toBe(false)

    await query('drop function refuse_poison() cascade')
    await passSeconds(2)

    expect(health.isUp).toBe(true)
    expect(told).toEqual(['store.unavailable', 'store.available'])
    expect(await store.operators.countEvents('poison')).toBe(1)
  })

  test('what the database refuses about an event is no word about the database', async () => {
    const { check, health } = await openCheck()

    check.failed(anEventDraft(), new StoreRejectedError('refused'))

    expect(health.isUp).toBe(true)
  })
})

async function openCheck() {
  const { store, query } = await openPostgres()
  await query(REFUSE_POISON)
  const happenings = new HappeningEmitter()
  const told: string[] = []
  happenings.onAny((name) => told.push(name))
  const health = new StoreHealth(happenings)
  let looks = 0
  let recording = 0
  const check = new WriteCheck({
    store: {
      events: {
        keepClock: async (options) => {
          const kept = await store.events.keepClock(options)
          looks += 1
          return kept
        },
        record: (drafts, options) => {
          recording += 1
          return store.events.record(drafts, options).finally(() => (recording -= 1))
        },
      },
    },
    health,
    happenings,
    onDue: () => undefined,
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(async () => {
    vi.useRealTimers()
    await check.stop()
  })
  await check.start()
  /** Until another look than the first so many is over. */
  const untilLooked = async (before: number) => {
    while (looks === before) await turn()
    for (let turns = 0; turns < 10; turns += 1) await turn()
    while (recording > 0) await turn()
    for (let turns = 0; turns < 10; turns += 1) await turn()
  }
  const passSeconds = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      const before = looks
      vi.advanceTimersByTime(1_000)
      await untilLooked(before)
    }
  }
  const recordFails = async (draft: EventDraft) => {
    const before = looks
    const error: unknown = await store.events
      .record([draft], { deadlineMs: 20_000 })
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    check.failed(draft, error)
    await untilLooked(before)
  }
  return { store, query, check, health, told, recordFails, passSeconds }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
