import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { github } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import { openStore } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** What comes again, and what only looks as if it did. Run by `test/inbox/<store>.test.ts`. */
export function redeliveredContract(store: StoreUnderTest): void {
  describe(`${store.name}: what comes again`, () => {
    test('R24: a captured delivery of GitHub under another id is kept for a person, and runs when it is released', async () => {
      const { inbox, countEffects } = await openGithub(store)
      const first = untilDone(inbox, 1)
      const captured = sign('github', { key: 'a' }, { secret: SECRET })
      expect(await inbox.receive('github', captured)).toMatchObject({ outcome: 'accepted' })
      await first

      const again = await inbox.receive('github', underId(captured, 'b'))

      expect(again).toMatchObject({ status: 200, outcome: 'quarantined' })
      expect(await inbox.admin.findEvent(again.eventId ?? '')).toMatchObject({
        state: 'quarantined',
        reason: 'same bytes under another key',
      })
      expect(await countEffects()).toBe(1)
      const second = untilDone(inbox, 1)
      const released = await inbox.admin.release(again.eventId ?? '', { reason: 'it is another' })
      expect(released).toMatchObject({ status: 'done', state: 'ready' })
      await second
      expect(await countEffects('b')).toBe(1)
      expect(await inbox.admin.listAudit()).toMatchObject([{ action: 'release' }])
    })

    test("R25: ten equal bodies under ten ids are ten effects where the source says sameBytes: 'run'", async () => {
      const { inbox, deliverBytes, countEffects } = await openInbox(store)
      inbox.on('pings', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'pinged']))
      await inbox.start()
      const ran = untilDone(inbox, 10)

      for (let nth = 0; nth < 10; nth += 1) {
        const { status, outcome } = await deliverBytes(`ping_${nth}`, nth < 5 ? '' : '{}')
        expect([status, outcome]).toEqual([200, 'accepted'])
      }
      await ran

      expect(await countEffects()).toBe(10)
    })

    test("R49: GitHub's own redelivery is a duplicate, and an operator can have the event run again instead", async () => {
      const { inbox, countEffects } = await openGithub(store)
      const first = untilDone(inbox, 1)
      const delivery = sign('github', { key: 'a' }, { secret: SECRET })
      const { eventId } = await inbox.receive('github', delivery)
      await first

      expect(await inbox.receive('github', delivery)).toMatchObject({
        status: 200,
        outcome: 'duplicate',
        eventId,
      })
      expect(await countEffects()).toBe(1)
      const second = untilDone(inbox, 1)
      await inbox.admin.replay(eventId ?? '', { reason: 'asked for in the dashboard' })
      await second
      expect(await countEffects('a')).toBe(2)
    })

    test('R49: a redelivery of GitHub without its signature is 401, and the log says what is missing', async () => {
      const { inbox } = await openGithub(store)
      const delivery = sign('github', { key: 'a' }, { secret: SECRET })
      const { 'x-hub-signature-256': _, ...headers } = delivery.headers
      const refused: unknown[] = []
      inbox.events.on('delivery.refused', (one) => refused.push(one))

      expect(await inbox.receive('github', { ...delivery, headers })).toMatchObject({ status: 401 })

      expect(refused).toEqual([{ source: 'github', reason: 'missing-header' }])
      expect(await inbox.admin.countEvents()).toBe(0)
    })
  })
}

async function openGithub(underTest: StoreUnderTest) {
  const { database, createEffects, countEffects } = await openStore(underTest)
  await createEffects()
  const inbox = createInbox({
    store: database.newStore(),
    sources: { github: github({ secrets: [SECRET] }) },
    logger: SILENT,
    receive: { answerTimeoutMs: 30_000 },
    worker: { pollMs: 50 },
  })
  onTestFinished(() => inbox.stop())
  inbox.on('github', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'ran']))
  await inbox.start()
  return { inbox, countEffects }
}

/** GitHub does not sign the id. */
function underId(delivery: Delivery, id: string): Delivery {
  return { ...delivery, headers: { ...delivery.headers, 'x-github-delivery': id } }
}
