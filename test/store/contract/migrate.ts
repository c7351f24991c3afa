import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { createEmptyDatabase } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { recordOne } from '../../support/store-steps.ts'

/** What every store must do about its schema when it opens. */
export function migrateContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: migrate`, () => {
    test('ten stores that open an empty database at once all find the schema', async () => {
      const database = await createEmptyDatabase(underTest)
      const stores = Array.from({ length: 10 }, () => database.newStore())

      await Promise.all(stores.map((store) => store.open()))

      const results = await Promise.all(stores.map((store) => recordOne(store, anEventDraft())))
      expect(results.filter(({ status }) => status === 'accepted')).toHaveLength(1)
    })

    test('opening a database again keeps what is in it', async () => {
      const database = await createEmptyDatabase(underTest)
      const before = database.newStore()
      await before.open()
      const { eventId } = await recordOne(before, anEventDraft())
      await before.close()

      const after = database.newStore()
      await after.open()

      expect(await recordOne(after, anEventDraft())).toEqual({ status: 'duplicate', eventId })
    })

    test('H19: a schema from a later version is refused, also when only checking', async () => {
      const database = await createEmptyDatabase(underTest)
      await database.newStore().open()
      await database.migrateBeyond()

      await expect(database.newStore().open()).rejects.toMatchObject({ code: 'SCHEMA_NEWER' })
      await expect(database.newStore({ migrate: 'check' }).open()).rejects.toMatchObject({
        code: 'SCHEMA_NEWER',
      })
    })

    test('checking an empty database says what is missing and makes nothing', async () => {
      const database = await createEmptyDatabase(underTest)

      for (const _ of ['once', 'twice']) {
        await expect(database.newStore({ migrate: 'check' }).open()).rejects.toMatchObject({
          code: 'SCHEMA_MISSING',
          message: expect.stringContaining('migrate'),
        })
      }
    })

    test('checking an outdated schema says so', async () => {
      const database = await createEmptyDatabase(underTest)
      await database.newStore().open()
      await database.migrateBack()

      const opening = database.newStore({ migrate: 'check' }).open()

      await expect(opening).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' })
    })

    test('checking a migrated database opens it', async () => {
      const database = await createEmptyDatabase(underTest)
      await database.newStore().open()

      const store = database.newStore({ migrate: 'check' })
      await store.open()

      expect(await recordOne(store, anEventDraft())).toMatchObject({ status: 'accepted' })
    })
  })
}
