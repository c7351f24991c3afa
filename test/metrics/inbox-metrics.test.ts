import { execFileSync } from 'node:child_process'
import { describe, expect, inject, test } from 'vitest'
import { permanent } from '../../src/index.ts'
import { createMetrics } from '../../src/metrics/index.ts'
import type { MeasuredInbox } from '../../src/metrics/index.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../support/sqlite-under-test.ts'

const { promtool } = inject('tools')
const shared = inject('postgres')
const stores = [
  sqliteUnderTest(DEFAULT_DRIVER),
  ...(shared === null ? [] : [postgresUnderTest('PostgreSQL', () => shared)]),
]

/** The value of a line. */
async function read(page: Promise<string>, series: string): Promise<number | undefined> {
  const line = (await page).split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

describe.each(stores)('the metrics of an inbox on $name', (underTest) => {
  test('count deliveries, what became of events, and how things stand', async () => {
    const { inbox, deliver, deliverUntil, next } = await openInbox(underTest)
    inbox.on('stripe', 'invoice.paid', (event) => {
      if (event.key === 'evt_bad') throw permanent('declined')
    })
    const metrics = createMetrics(inbox)
    await inbox.start()

    await deliverUntil('evt_1', 'event.done')
    await deliver('evt_1')
    await inbox.receive('stripe', {
      method: 'POST',
      url: '/',
      headers: {},
      body: Buffer.from('{}'),
      receivedAt: new Date(),
    })
    const dead = next('event.dead')
    await deliver('evt_bad')
    await dead

    // A machine that is busy may take longer to look than the page waits for it.
    let page = metrics.render()
    await expect.poll(() => read((page = metrics.render()), 'hookonce_store_up')).toBe(1)
    for (const [series, value] of [
      ['hookonce_deliveries_total{source="stripe",outcome="accepted"}', 2],
      ['hookonce_deliveries_total{source="stripe",outcome="duplicate"}', 1],
      ['hookonce_deliveries_total{source="stripe",outcome="refused"}', 1],
      // Silent, and there all the same.
      ['hookonce_deliveries_total{source="pings",outcome="accepted"}', 0],
      ['hookonce_signature_failures_total{source="stripe",reason="missing-header"}', 1],
      ['hookonce_ack_seconds_count{source="stripe"}', 4],
      ['hookonce_events_settled_total{source="stripe",state="done"}', 1],
      ['hookonce_process_seconds_count{source="stripe"}', 1],
      ['hookonce_events_settled_total{source="stripe",state="dead"}', 1],
      ['hookonce_ready', 1],
      ['hookonce_store_up', 1],
      ['hookonce_events{state="done"}', 1],
      ['hookonce_events{state="dead"}', 1],
      ['hookonce_events{state="unhandled"}', 0],
      ['hookonce_workers', 1],
      ['hookonce_paused{kind="source"}', 0],
    ] as const)
      expect([series, await read(page, series)]).toEqual([series, value])
  })

  test.skipIf(promtool === null)('are read by Prometheus without a complaint', async () => {
    const { inbox, deliverUntil } = await openInbox(underTest)
    inbox.on('stripe', 'invoice.paid', () => undefined)
    const metrics = createMetrics(inbox)
    await inbox.start()
    await deliverUntil('evt_1', 'event.done')

    const complaints = execFileSync(promtool ?? '', ['check', 'metrics'], {
      input: await metrics.render(),
    })

    expect(complaints.toString()).toBe('')
  })
})

describe('the metrics of an inbox', () => {
  const stats = () => Promise.reject(new Error('the store is away'))
  const aSilentInbox = (more: Partial<MeasuredInbox> = {}) => {
    const events = new HappeningEmitter()
    return {
      events,
      inbox: { events, admin: { stats }, sourceNames: [], isReady: () => false, ...more },
    }
  }

  test('say that the store does not answer, and leave out what it would say', async () => {
    const page = createMetrics(aSilentInbox().inbox).render()

    expect(await read(page, 'hookonce_store_up')).toBe(0)
    expect(await read(page, 'hookonce_ready')).toBe(0)
    expect(await page).not.toContain('hookonce_events{')
  })

  test('go on counting when another inbox is watched', async () => {
    const [first, second] = [aSilentInbox(), aSilentInbox()]
    const metrics = createMetrics(first.inbox)
    const answered = { source: 's', outcome: 'accepted', durationMs: 1 } as const
    first.events.emit('delivery.answered', answered)

    metrics.watch(second.inbox)
    second.events.emit('delivery.answered', answered)
    first.events.emit('delivery.answered', answered)

    const series = 'hookonce_deliveries_total{source="s",outcome="accepted"}'
    expect(await read(metrics.render(), series)).toBe(2)
  })

  test.each([
    [undefined, undefined],
    [0, 0],
    [600_000, 600],
    [-31_500, -31.5],
    [1e12, 86_400],
    [-1e12, -86_400],
  ])('say by how much the clock is off, at most a day: %s ms', async (clockSkewMs, seconds) => {
    const page = createMetrics(aSilentInbox({ clockSkewMs }).inbox).render()

    expect(await read(page, 'hookonce_clock_skew_seconds')).toBe(seconds)
  })

  test('ask the store once, however many ask for them at the same time', async () => {
    let asked = 0
    const { inbox } = aSilentInbox({
      admin: {
        stats: () => {
          asked += 1
          return Promise.reject(new Error('the store is away'))
        },
      },
    })
    const metrics = createMetrics(inbox)

    await Promise.all([metrics.render(), metrics.render(), metrics.render()])

    expect(asked).toBe(1)
  })
})
