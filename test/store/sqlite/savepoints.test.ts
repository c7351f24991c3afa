/** Savepoints of a handler that has to wait for SQLite's one writer. */

import { describe, expect, test } from 'vitest'
import type { Group } from '../../../src/store/contract/group.ts'
import { anEventDraft } from '../../support/builders.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx } from '../../support/store-under-test.ts'

const WRITE = 'insert into effects (event_key, note) values ($1, $2)'

/** A group that opens late, and another one that has the writer. */
async function openBehind() {
  const opened = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  await opened.createEffects()
  for (const key of ['a', 'b']) await recordOne(opened.store, anEventDraft({ key }))
  const slot = { workerId: 'worker-1', slot: 0 }
  const late = await claim(opened.store, { slot, limit: 1, opensLate: 'always' })
  const beside = await claim(opened.store, { slot: { ...slot, slot: 1 }, limit: 1 })
  const lent = late.lend()
  return { ...opened, late, beside, lent, tx: lent.tx }
}

async function end(group: Group<QueryTx>): Promise<void> {
  await group.settle(group.events.map(done))
  expect(await group.commit()).toEqual({ status: 'committed' })
}

describe('sqlite: a savepoint whose handler waits for the writer', () => {
  test('comes after what was written before it, and its function runs when it is set', async () => {
    const { late, beside, lent, tx, database } = await openBehind()
    const order: string[] = []

    tx.write(WRITE, ['a', 'before'])
    const undone = tx.savepoint(async () => {
      order.push('function')
      const { rows } = await tx.query('select note from effects')
      expect(rows).toEqual([{ note: 'before' }])
      tx.write(WRITE, ['a', 'undone'])
      throw new Error('Out of stock')
    })
    undone.catch(() => undefined)
    order.push('the writer is free')
    await end(beside)

    await expect(undone).rejects.toThrow('Out of stock')
    expect(order).toEqual(['the writer is free', 'function'])
    await tx.savepoint(() => tx.write(WRITE, ['a', 'after']))
    lent.requireClosed()
    await lent.flush()
    await lent.revoke()
    await end(late)
    expect(await database.query('select note from effects order by rowid')).toEqual([
      { note: 'before' },
      { note: 'after' },
    ])
  })

  test('stands for the BEGIN of code that does not wait for it', async () => {
    const { late, beside, lent, tx, database } = await openBehind()
    const nested = tx.asNested()

    const answers = [
      nested.query(WRITE, ['a', 'before']),
      nested.query('begin'),
      nested.query(WRITE, ['a', 'inside']),
    ]
    await end(beside)
    await Promise.all(answers)
    await nested.query('rollback')

    await lent.revoke()
    await end(late)
    expect(await database.query('select note from effects')).toEqual([{ note: 'before' }])
  })

  test('is never set when time runs out meanwhile', async () => {
    const { late, beside, lent, tx, countEffects } = await openBehind()
    let hasRun = false
    const savepoint = tx.savepoint(() => {
      hasRun = true
      tx.write(WRITE, ['a', 'late'])
    })

    lent.revokeNow()
    await end(beside)

    await expect(savepoint).rejects.toMatchObject({ code: 'TX_REVOKED' })
    expect(hasRun).toBe(false)
    await end(late)
    expect(await countEffects()).toBe(0)
  })
})
