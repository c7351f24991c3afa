import { describe, expect, inject, test } from 'vitest'
import { bytesOf } from '../../../src/model/stored-body.ts'
import { anEventDraft } from '../../support/builders.ts'
import {
  createEmptyPostgresDatabase,
  hasNoPostgres,
  newPool,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

describe.skipIf(hasNoPostgres)('a database whose encoding cannot hold every text', () => {
  test('hands bodies over all the same', async () => {
    const utf8 = await createEmptyPostgresDatabase(inject('postgres'))
    const admin = newPool(utf8)
    const database = `${utf8.database}_latin1`
    await admin.query(
      `create database "${database}" encoding 'LATIN1' locale 'C' template template0`,
    )
    try {
      const store = await openStoreOn({ ...utf8, database, max: 8 })
      const bodies = ['{"é":1}', '{"🪝":"€"}'].map((text) => Buffer.from(text))
      const drafts = bodies.map((body, n) => anEventDraft({ key: `evt_${n}`, body }))
      await store.recordEvents(drafts, { deadlineMs: 20_000 })

      const group = await claim(store)

      expect(group.events.map(({ body }) => Buffer.from(bytesOf(body)).toString())).toEqual(
        bodies.map(String),
      )
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    } finally {
      await admin.query(`drop database "${database}" with (force)`)
    }
  })
})
