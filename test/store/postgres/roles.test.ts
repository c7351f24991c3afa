import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox, destination } from '../../../src/index.ts'
import { stripe } from '../../../src/providers/index.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { listBlocks, readPage } from '../../docs/markdown.ts'
import { deliver, SECRET } from '../../support/inbox-under-test.ts'
import {
  createRole,
  hasNoPostgres,
  newPool,
  openPostgres,
} from '../../support/postgres/open-postgres.ts'

describe.skipIf(hasNoPostgres)('a role with the rights that the guide names', () => {
  test('can receive, run handlers, take steps, send and operate', async () => {
    const opened = await openPostgres()
    const role = await createRole(opened)
    await opened.query(grantsOfTheGuide(role.user))
    const inbox = createInbox({
      store: postgresStore({ pool: newPool(role), migrate: 'check' }),
      sources: { stripe: stripe({ secrets: [SECRET] }) },
      destinations: [destination('mail', () => undefined)],
    })
    onTestFinished(() => inbox.stop())
    const happened: string[] = []
    const seen = new Promise<void>((resolve, reject) => {
      inbox.events.onAny((name, about) => {
        if ('error' in about && about.error instanceof Error) reject(about.error)
        if (name === 'event.done' || name === 'message.sent') happened.push(name)
        if (happened.length === 4) resolve()
      })
    })
    inbox.on('stripe', 'invoice.paid', async (_event, { tx, send }) => {
      await tx.query('select 1')
      await send('mail', 'paid')
    })
    inbox.steps('stripe', 'invoice.created', async (_event, step) => {
      await step.tx('write', () => 1)
      await step.call('call', () => 1)
      await step.send('mail', 'created')
    })
    await inbox.start()

    const first = await deliver(inbox, 'evt_1')
    await deliver(inbox, 'evt_1')
    await deliver(inbox, 'evt_2', { type: 'invoice.created' })
    await seen

    expect(happened.sort()).toEqual(['event.done', 'event.done', 'message.sent', 'message.sent'])
    expect(await inbox.admin.findEvent(first.eventId as string)).toMatchObject({ state: 'done' })
    expect(await inbox.admin.forget(first.eventId as string)).toMatchObject({ status: 'done' })
  })

  test.each([
    'create table hookonce.mine (id int)',
    'alter table hookonce.events add column mine int',
    'drop table hookonce.events',
    'truncate hookonce.events',
    'create schema mine',
    'select * from elsewhere.secrets',
  ])('S05: may do no more: %s', async (sql) => {
    const opened = await openPostgres()
    const role = await createRole(opened)
    await opened.query(grantsOfTheGuide(role.user))
    await opened.query('create schema elsewhere; create table elsewhere.secrets (id int)')
    onTestFinished(async () => void (await opened.query('drop schema elsewhere cascade')))

    await expect(newPool(role).query(sql)).rejects.toMatchObject({ code: '42501' })
  })
})

function grantsOfTheGuide(role: string): string {
  const [grants] = listBlocks(readPage('docs/guides/postgres.md')).filter(
    ({ language }) => language === 'sql',
  )
  if (grants === undefined) throw new Error('The guide names no rights')
  return grants.code.replaceAll(/\bapp\b/g, role)
}
