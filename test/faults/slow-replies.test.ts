import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { Random } from '../support/faults/random.ts'
import { WRITE_EFFECT } from '../support/faults/scripted-handler.ts'
import { until } from '../support/faults/until.ts'

/** `HOOKONCE_SLOW_EVENTS=50000` for the size of the fault list. */
const EVENTS = Number(process.env['HOOKONCE_SLOW_EVENTS'] ?? 1_000)
const DELAY_MS_MAX = 5_000

describe('PostgreSQL, of whose answers one in a hundred comes seconds late', () => {
  test(
    'H22: with several workers each event takes effect once',
    { timeout: 1_800_000 },
    async () => {
      const database = await createFaultDatabase('postgres')
      const random = new Random(22)
      let delayed = 0
      const workers = Array.from({ length: 3 }, () =>
        createFaultInbox(database, {
          // Its heart is late as well, so that living workers are taken for dead.
          worker: { concurrency: 4, groupMax: 5, deadAfterMs: 2_000 },
          probe: ({ phase }) => {
            if (phase !== 'after' || random.next() >= 0.01) return undefined
            delayed += 1
            return new Promise((resolve) => setTimeout(resolve, random.next() * DELAY_MS_MAX))
          },
        }),
      )
      const receiver = createFaultInbox(database)
      const keys = Array.from({ length: EVENTS }, (_, nth) => `evt_${nth}`)
      for (let at = 0; at < keys.length; at += 100)
        await Promise.all(
          keys.slice(at, at + 100).map((key) => accept(receiver, fromPartner({ key }))),
        )
      for (const { inbox } of workers) {
        inbox.on('partner', '*', { retry: { firstMs: 1, factor: 1 } }, (event, { tx }) =>
          tx.query(WRITE_EFFECT, [event.key, 'ran']),
        )
        await inbox.start()
      }

      await until('all are at rest', async () => (await database.count('queue')) === 0, {
        limitMs: 1_500_000,
      })

      expect(delayed).toBeGreaterThan(0)
      expect(await database.count('outcomes', "state = 'done'")).toBe(EVENTS)
      expect(await database.listWrongEffects(keys)).toEqual([])
    },
  )
})
