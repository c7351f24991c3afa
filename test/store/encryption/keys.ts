import { describe, expect, test } from 'vitest'
import type { EncryptionOptions } from '../../../src/store/sqlite/index.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { aKey } from '../../support/encryption-keys.ts'
import { DEADLINE_MS, dead, recordOne, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const OLD = aKey('2026-10')
const NEW = aKey('2026-11')

/** Keys that are changed, wrong and missing. */
export function keysContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: keys`, () => {
    test('S03: a key is replaced while events arrive and run: none is refused, and all are read', async () => {
      const { database } = await openStore(underTest, { encryption: { keys: [OLD] } })
      const open = (...keys: EncryptionOptions['keys']) => opened(database, { keys })
      const answers: Promise<unknown>[] = []
      let sent = 0
      const receive = (store: Store<QueryTx>, count: number): void => {
        for (let n = 0; n < count; n += 1) {
          sent += 1
          const drafts = [anEventDraft({ key: `evt_${sent}`, body: `{"n":${sent}}` })]
          answers.push(store.events.record(drafts, { deadlineMs: DEADLINE_MS }))
        }
      }

      // As processes are replaced: behind the old key everywhere, then before it, then alone.
      const first = await open(OLD)
      receive(first, 30)
      const [second, third] = [await open(OLD, NEW), await open(OLD, NEW)]
      for (const store of [first, second, third]) receive(store, 20)
      const fourth = await open(NEW, OLD)
      for (const store of [second, third, fourth]) receive(store, 20)
      const fifth = await open(NEW, OLD)
      receive(fifth, 30)
      await Promise.all(answers)

      const read = await readAll(third)
      expect(read).toEqual(Array.from({ length: sent }, (_, at) => `{"n":${at + 1}}`).sort())
      expect(await usedKeys(database)).toEqual(['2026-10', '2026-11'])
    })

    test('S03: a wrong key is refused when the store is opened, by its name', async () => {
      const { database, store } = await openStore(underTest, { encryption: { keys: [OLD] } })
      await recordOne(store, anEventDraft())
      const wrong = aKey(OLD.id, 'of another database')

      for (const keys of [[wrong], [NEW, wrong]]) {
        const refused = await database
          .newStore({ encryption: { keys } })
          .open()
          .catch((e: unknown) => e)
        expect(refused).toMatchObject({ code: 'ENCRYPTION_KEY_WRONG' })
        expect(String(refused)).toContain(`"${OLD.id}"`)
        expect(String(refused)).not.toContain(
          Buffer.from(wrong.key as Uint8Array).toString('base64'),
        )
      }
      // What was refused has changed nothing.
      await expect(opened(database, { keys: [OLD] })).resolves.toBeDefined()
    })

    test.each<[string, EncryptionOptions | undefined]>([
      ['no keys at all', undefined],
      ['another key alone', { keys: [NEW] }],
    ])('S03: with %s, a database that others encrypt is refused', async (_, encryption) => {
      const { database } = await openStore(underTest, { encryption: { keys: [OLD] } })
      const refused = database.newStore(encryption === undefined ? {} : { encryption }).open()
      await expect(refused).rejects.toMatchObject({ code: 'ENCRYPTION_KEY_MISSING' })
      await expect(refused).rejects.toThrow(`"${OLD.id}"`)
    })

    test('a process without the key before the last is told, and starts', async () => {
      const { database } = await openStore(underTest, { encryption: { keys: [OLD] } })
      const both = await opened(database, { keys: [NEW, OLD] })
      expect(both.warnings?.join() ?? '').not.toContain('encrypted')

      const alone = await opened(database, { keys: [NEW] })

      expect(alone.warnings?.join()).toContain(`encrypted with the key "${OLD.id}"`)
    })

    test('rows from before are read when it is switched on, and go on to be read when it is switched off', async () => {
      const { database, store: before } = await openStore(underTest)
      const { eventId: clear } = await recordOne(before, anEventDraft({ key: 'clear' }))
      await before.close()

      const on = await opened(database, { keys: [OLD] })
      const { eventId: sealed } = await recordOne(on, anEventDraft({ key: 'sealed' }))
      const off = await opened(database, { keys: [OLD], writes: 'clear' })
      const { eventId: again } = await recordOne(off, anEventDraft({ key: 'again' }))

      for (const store of [on, off])
        for (const id of [clear, sealed, again])
          expect(Buffer.from((await store.operators.findEvent(id))!.body).toString()).toBe(
            '{"amount":1}',
          )
      expect(await storedBody(database, sealed)).toContain('hookonce:sealed:')
      for (const id of [clear, again]) expect(await storedBody(database, id)).toBe('{"amount":1}')

      // No key encrypts any more, so that a process without any is let in.
      const without = database.newStore()
      await without.open()
      expect(await without.operators.countEvents()).toBe(3)
    })

    test('what one cannot read is told from what failed', async () => {
      const { database, store } = await openStore(underTest, { encryption: { keys: [OLD] } })
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const lost = await opened(database, { keys: [], writes: 'clear' })

      expect(lost.warnings?.join()).toContain(`"${OLD.id}"`)
      expect(await lost.operators.findEvent(eventId)).toMatchObject({
        state: 'dead',
        payload: 'unreadable',
        reason: expect.stringContaining('ENCRYPTION_KEY_MISSING') as string,
        failures: [{ message: expect.stringContaining('ENCRYPTION_KEY_MISSING') as string }],
      })
      await expect(lost.operators.findRequest(eventId)).rejects.toMatchObject({
        code: 'ENCRYPTION_KEY_MISSING',
      })
    })
  })
}

async function opened(
  database: DatabaseUnderTest,
  encryption: EncryptionOptions,
): Promise<Store<QueryTx>> {
  const store = database.newStore({ encryption })
  await store.open()
  return store
}

async function readAll(store: Store<QueryTx>): Promise<readonly string[]> {
  const looked = await store.search.walk({
    place: 'events',
    below: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    from: '00000000-0000-0000-0000-000000000000',
    limit: 1_000,
  })
  const ids = looked.map(({ id }) => id)
  const bodies = await store.search.readBodies(ids, 10_000_000)
  return bodies.map(({ body }) => Buffer.from(body).toString()).sort()
}

async function storedBody(database: DatabaseUnderTest, id: string): Promise<string> {
  const table = 'file' in database ? 'hookonce_events' : 'hookonce.events'
  const [row] = await database.query(`select body from ${table} where id = $1`, [id])
  return Buffer.from(row!['body'] as Uint8Array).toString('latin1')
}

/** The keys that rows are encrypted with, by what is stored. */
async function usedKeys(database: DatabaseUnderTest): Promise<readonly string[]> {
  const table = 'file' in database ? 'hookonce_events' : 'hookonce.events'
  const rows = await database.query(`select body from ${table}`)
  const ids = rows.map(
    ({ body }) =>
      Buffer.from(body as Uint8Array)
        .toString('latin1')
        .split(':')[3],
  )
  return [...new Set(ids.map(String))].sort()
}
