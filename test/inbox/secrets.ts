import { describe, expect, test } from 'vitest'
import { createOperator } from '../../src/admin/create-operator.ts'
import type { Acknowledgement } from '../../src/model/acknowledgement.ts'
import type { Secret } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const OLD = 'whsec_the_old_secret_of_some_length'
const NEW = 'whsec_the_new_secret_of_some_length'
const HOUR_MS = 3_600_000

/** How the secrets of a source are rotated, and how much each is used. Run by `test/inbox/<store>.test.ts`. */
export function secretsContract(store: StoreUnderTest): void {
  describe(`${store.name}: a rotation`, () => {
    test('R33: both secrets verify while they overlap, the old one not past its end, and each event names its own', async () => {
      const until = new Date(Date.now() + HOUR_MS)
      const { inbox } = await openInbox(store, { source: { secrets: rotation(until) } })
      const past = new Date(until.getTime() + 1)

      const byOld = await deliverWith(inbox, OLD, 'evt_old')
      const byNew = await deliverWith(inbox, NEW, 'evt_new')
      const atTheEnd = await deliverWith(inbox, OLD, 'evt_end', until)
      const late = await deliverWith(inbox, OLD, 'evt_late', past)
      const after = await deliverWith(inbox, NEW, 'evt_after', past)

      const answers = [byOld, byNew, atTheEnd, late, after].map(({ status }) => status)
      expect(answers).toEqual([200, 200, 200, 401, 200])
      expect(await inbox.admin.listEventsByKey('stripe', 'evt_late')).toEqual([])
      expect(await verifiersOf(inbox, [byOld, byNew, atTheEnd, after])).toEqual([
        'old',
        'new',
        'old',
        'new',
      ])
    })

    test('R33: the use of each secret is counted, duplicates among it, and also that of one that was never used', async () => {
      const until = new Date(Date.now() + HOUR_MS)
      const { inbox } = await openInbox(store, { source: { secrets: rotation(until) } })

      const first = new Date(Date.now() - 60_000)
      const last = new Date(Date.now() - 30_000)
      await deliverWith(inbox, OLD, 'evt_1', last)
      await deliverWith(inbox, OLD, 'evt_1', first)
      await deliverWith(inbox, 'whsec_a_secret_of_an_unknown_sender', 'evt_2')

      const [byNew, byOld] = await inbox.admin.listSecrets({ source: 'stripe' })
      expect(byNew).toEqual({
        source: 'stripe',
        label: 'new',
        deliveries: 0,
        lastUsedAt: undefined,
        until: undefined,
      })
      expect(byOld).toEqual({
        source: 'stripe',
        label: 'old',
        deliveries: 2,
        lastUsedAt: last,
        until,
      })
    })

    test('the counts of several processes add up, and any operator can see them', async () => {
      const opened = await openInbox(store, { source: { secrets: rotation(undefined) } })
      const other = opened.another({ source: { secrets: rotation(undefined) } })

      await deliverWith(opened.inbox, NEW, 'evt_1')
      await deliverWith(other, NEW, 'evt_2')
      await deliverWith(other, OLD, 'evt_3')
      // What a process has counted is written when it stops.
      await Promise.all([opened.inbox.stop(), other.stop()])

      const operator = createOperator({ store: opened.database.newStore() })
      const uses = await operator.listSecrets()
      await operator.close()
      expect(uses.map(({ label, deliveries }) => [label, deliveries])).toEqual([
        ['new', 2],
        ['old', 1],
      ])
    })

    test('what is stored of it has no part of a secret', async () => {
      const opened = await openInbox(store, { source: { secrets: [NEW, OLD] } })
      const { inbox, database } = opened
      await deliverWith(inbox, OLD, 'evt_1')
      await inbox.admin.listSecrets()

      const tables = opened.store.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
      const rows = await database.query(`select * from ${tables}secret_uses`)

      expect(rows.map(({ label }) => label)).toContain('2')
      for (const secret of [NEW, OLD]) {
        for (let at = 0; at + 8 <= secret.length; at += 1)
          expect(JSON.stringify(rows)).not.toContain(secret.slice(at, at + 8))
      }
    })

    test.each([{ sauce: 'stripe' }, { source: 7 }])('a list of %j is refused', async (query) => {
      const { inbox } = await openInbox(store)

      await expect(inbox.admin.listSecrets(query as object)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
    })
  })
}

function rotation(until: Date | undefined): readonly Secret[] {
  return [
    { value: NEW, label: 'new' },
    { value: OLD, label: 'old', ...(until !== undefined && { until }) },
  ]
}

function deliverWith(
  inbox: Pick<TestInbox, 'receive'>,
  secret: string,
  key: string,
  at = new Date(),
): Promise<Acknowledgement> {
  return inbox.receive('stripe', sign('stripe', { key, at }, { secret }))
}

async function verifiersOf(
  inbox: TestInbox,
  answers: readonly Acknowledgement[],
): Promise<readonly (string | undefined)[]> {
  const events = await Promise.all(
    answers.map(({ eventId }) => inbox.admin.findEvent(eventId ?? '')),
  )
  return events.map((event) => event?.verifiedBy)
}
