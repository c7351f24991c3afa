import fc from 'fast-check'
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

    test('R21: what came under the same key with another body is shown with what differs', async () => {
      const { inbox } = await openGithub(store)
      const first = untilDone(inbox, 1)
      const body = '{"action":"opened","issue":{"id":9007199254740993,"labels":["bug"]}}'
      const { eventId } = await inbox.receive('github', signed('a', body))
      await first

      const other = '{"action":"opened","issue":{"id":9007199254740992,"labels":["bug","new"]}}'
      const conflict = await inbox.receive('github', signed('a', other))

      expect(conflict).toMatchObject({ status: 200, outcome: 'conflict' })
      expect(await inbox.admin.show(conflict.eventId ?? '')).toMatchObject({
        event: { state: 'conflict', reason: 'same key, other content' },
        firstEventId: eventId,
        beside: [{ event: { id: eventId, state: 'done' }, hasSameBody: false }],
        difference: {
          kind: 'json',
          differences: [
            {
              path: '$.issue.id',
              change: 'changed',
              before: '9007199254740993',
              after: '9007199254740992',
            },
            { path: '$.issue.labels[1]', change: 'added', after: '"new"' },
          ],
          isCut: false,
        },
      })
      expect((await inbox.admin.show(eventId ?? ''))?.difference).toBeUndefined()
    })

    test('R21: of whatever contents come under one key, one runs, and each other is kept as a conflict', async () => {
      const { inbox, deliverBytes, countEffects } = await openInbox(store)
      inbox.on('pings', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'ran']))
      await inbox.start()
      let keys = 0
      const contents = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 2, maxLength: 5 })

      await fc.assert(
        fc.asyncProperty(contents, fc.boolean(), async (bodies, isAtOnce) => {
          const key = `key_${(keys += 1)}`
          const ran = untilDone(inbox, 1)
          const answers = await deliverAll(bodies, isAtOnce, (body) => deliverBytes(key, body))
          await ran

          const others = new Set(bodies.map((body) => Buffer.from(body).toString('hex'))).size - 1
          expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200))
          expect(answers.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
          expect(answers.filter(({ outcome }) => outcome === 'conflict').length).toBe(others)
          const kept = await inbox.admin.listEventsByKey('pings', key)
          expect(kept.map(({ state }) => state)).toEqual([
            'done',
            ...Array.from({ length: others }, () => 'conflict'),
          ])
          expect(await countEffects(key)).toBe(1)
        }),
        { numRuns: 20 },
      )
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

async function deliverAll<Answer>(
  bodies: readonly Uint8Array[],
  isAtOnce: boolean,
  deliver: (body: Uint8Array) => Promise<Answer>,
): Promise<readonly Answer[]> {
  if (isAtOnce) return Promise.all(bodies.map(deliver))
  const answers: Answer[] = []
  for (const body of bodies) answers.push(await deliver(body))
  return answers
}

function signed(key: string, body: string): Delivery {
  return sign('github', { key, body }, { secret: SECRET })
}

/** GitHub does not sign the id. */
function underId(delivery: Delivery, id: string): Delivery {
  return { ...delivery, headers: { ...delivery.headers, 'x-github-delivery': id } }
}
