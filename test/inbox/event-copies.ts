import { describe, expect, test } from 'vitest'
import type { WebhookEvent } from '../../src/model/event.ts'
import { openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import { SOON } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** That no handler sees what another has done to its event, on every store. Run by `test/inbox/<store>.test.ts`. */
export function eventCopiesContract(store: StoreUnderTest): void {
  describe(`${store.name}: the event that a handler gets`, () => {
    // The body is kept as text where it is UTF-8, and as bytes where it is not.
    test.each([
      ['text', '{"a":1}'],
      ['bytes', Uint8Array.of(0xff, 0xfe, 0x00, 0x41)],
    ])(
      'H36: is its own: what one of several handlers does to it reaches no other (%s)',
      async (_, body) => {
        const { inbox, deliverBytes } = await openInbox(store)
        const seen: unknown[] = []
        for (const name of ['first', 'second'])
          inbox.on('pings', '*', { name }, (event) => {
            seen.push(snapshot(event))
            spoil(event)
          })
        await inbox.start()
        const done = untilDone(inbox, 1)

        await deliverBytes('evt_1', body)
        await done

        expect(seen).toHaveLength(2)
        expect(seen[1]).toEqual(seen[0])
      },
    )

    test('names the secret that verified it, to handlers and to operators, and never shows it', async () => {
      const secrets = ['another-secret-of-some-length', { value: SECRET, label: '2026-11' }]
      const { inbox, deliver } = await openInbox(store, { source: { secrets } })
      const seen: unknown[] = []
      inbox.on('stripe', '*', ({ verifiedBy }) => {
        seen.push(verifiedBy)
      })
      inbox.steps('stripe', '*', { name: 'steps' }, ({ verifiedBy }) => {
        seen.push(verifiedBy)
      })
      const done = untilDone(inbox, 1)
      await inbox.start()

      const { eventId = '' } = await deliver('evt_1')
      await done

      expect(seen).toEqual(['2026-11', '2026-11'])
      const found = await inbox.admin.findEvent(eventId)
      expect(found?.verifiedBy).toBe('2026-11')
      expect(JSON.stringify(found)).not.toContain(SECRET)
    })

    test('H36: is whole again when the handler runs again, alone or after a neighbour has failed', async () => {
      // However slow the machine is, the two are grouped.
      const worker = { concurrency: 1, groupBudgetMs: 60_000 }
      const { inbox, deliver } = await openInbox(store, { worker })
      const seen: Record<string, unknown[]> = { evt_1: [], evt_2: [] }
      inbox.on('stripe', '*', SOON, (event, { attempt }) => {
        seen[event.key]?.push(snapshot(event))
        spoil(event)
        if (event.key === 'evt_2' && attempt === 1) throw new Error('not yet')
      })
      // The first of all runs alone, and those after it share a group.
      for (const key of ['evt_0', 'evt_1', 'evt_2']) await deliver(key)
      const done = untilDone(inbox, 3)

      await inbox.start()
      await done

      for (const each of Object.values(seen)) {
        expect(each.length).toBeGreaterThan(1)
        expect(new Set(each.map((one) => JSON.stringify(one))).size).toBe(1)
      }
    })

    test('H36: is its own also for a step handler, beside others and at the next attempt', async () => {
      const { inbox, deliverBytes } = await openInbox(store)
      const seen: unknown[] = []
      inbox.steps('pings', '*', { name: 'steps', ...SOON }, (event, step) => {
        seen.push(snapshot(event))
        spoil(event)
        if (step.attempt === 1) throw new Error('not yet')
      })
      inbox.on('pings', '*', { name: 'beside' }, (event) => {
        seen.push(snapshot(event))
        spoil(event)
      })
      await inbox.start()
      const done = untilDone(inbox, 1)

      await deliverBytes('evt_1', 'ping')
      await done

      expect(seen).toHaveLength(3)
      expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1)
    })
  })
}

/** All that there is to change. */
function snapshot({ headers, receivedAt, occurredAt, body }: WebhookEvent): unknown {
  return {
    headers: structuredClone(headers),
    receivedAt: receivedAt.getTime(),
    occurredAt: occurredAt?.getTime(),
    body: [...body],
  }
}

function spoil(event: WebhookEvent): void {
  const headers = event.headers as Record<string, string | string[]>
  for (const value of Object.values(headers)) if (Array.isArray(value)) value.push('spoiled')
  headers['x-id'] = 'spoiled'
  headers['x-spoiled'] = 'yes'
  event.receivedAt.setFullYear(1999)
  event.occurredAt?.setFullYear(1999)
  event.body.fill(0x20)
}
