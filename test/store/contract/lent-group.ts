import { anEventDraft } from '../../support/builders.ts'
import { claim, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

export const WRITE_EFFECT = 'insert into effects (event_key, note) values ($1, $2)'

/** How the transaction is opened. */
export interface LentContractOptions {
  readonly opensLate: boolean
}

/** A store with one event, `evt_1`, that is claimed and whose transaction is lent. */
export async function openLentGroup(underTest: StoreUnderTest, { opensLate }: LentContractOptions) {
  const opened = await openStore(underTest)
  await opened.createEffects()
  await recordOne(opened.store, anEventDraft())
  const group = await claim(opened.store, { opensLate: opensLate ? 'always' : 'never' })
  return { ...opened, group, lent: group.lend() }
}
