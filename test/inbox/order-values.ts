import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Source } from '../../src/model/source.ts'
import { unsigned } from '../../src/providers/unsigned.ts'
import { openStore } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const parcels = unsigned({
  verify: 'none',
  key: 'json:$.id',
  version: 'json:$.revision',
  sequence: 'json:$.count',
})

/** One that sends several events in a delivery. */
const parts: Source = {
  ...parcels,
  identify: () =>
    ['1', '2', '3'].map((key) => ({
      key,
      type: 'part',
      version: `2025-10-09T1${key}:30:00+02:00`,
      sequence: Number(key),
      body: Buffer.from(`{"id":${key}}`),
    })),
}

/** The versions of these. */
const UTC: Readonly<Record<string, string>> = {
  1: '2025-10-09T09:30:00Z',
  2: '2025-10-09T10:30:00Z',
  3: '2025-10-09T11:30:00Z',
}

/** What is kept of the order that a sender gives its events. Run by `test/inbox/<store>.test.ts`. */
export function orderValuesContract(store: StoreUnderTest): void {
  describe(`${store.name}: what a sender says of an event's place among others`, () => {
    test('is kept with the event, exactly', async () => {
      const { receive, inbox } = await openReceiver(store, parcels)

      const answer = await receive('{"id":"p-1","revision":18446744073709551617,"count":"007"}')

      expect(await inbox.admin.findEvent(answer.eventId ?? '')).toMatchObject({
        version: '18446744073709551617',
        sequence: '7',
      })
    })

    test('is kept with each event of a delivery that carries several', async () => {
      const { receive, inbox } = await openReceiver(store, parts)

      await receive('[1,2,3]')

      for (const key of ['1', '2', '3']) {
        expect(await inbox.admin.listEventsByKey('source', key)).toMatchObject([
          { version: UTC[key], sequence: key },
        ])
      }
    })

    test('is nothing where the sender says nothing', async () => {
      const { receive, inbox } = await openReceiver(store, parcels)

      const answer = await receive('{"id":"p-1","revision":null}')

      const event = await inbox.admin.findEvent(answer.eventId ?? '')
      expect(event).toMatchObject({ version: undefined, sequence: undefined })
    })
  })
}

async function openReceiver(underTest: StoreUnderTest, source: Source) {
  const { database } = await openStore(underTest)
  const quiet = () => undefined
  const inbox = createInbox({
    store: database.newStore(),
    sources: { source },
    worker: false,
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  onTestFinished(() => inbox.stop())
  const receive = (body: string) =>
    inbox.receive('source', {
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body),
      receivedAt: new Date(),
    })
  return { inbox, receive }
}
