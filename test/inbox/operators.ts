import { describe, expect, test } from 'vitest'
import type { Operator } from '../../src/admin/operator.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** Takes what no type would let through: an operator's script may be plain JavaScript. */
type AnyAct = (...args: unknown[]) => Promise<unknown>

/** What `inbox.admin` does with arguments that cannot be meant. Run by `test/inbox/<store>.test.ts`. */
export function operatorsContract(store: StoreUnderTest): void {
  describe(`${store.name}: an operator's`, () => {
    test.each<[keyof Operator, readonly unknown[], string]>([
      ['list', [{ stat: 'dead' }], '.stat'],
      ['list', ['dead'], ''],
      ['list', [{ state: 'failed' }], '.state'],
      ['list', [{ state: [] }], '.state'],
      ['list', [{ source: 7 }], '.source'],
      ['list', [{ attempts: -1 }], '.attempts'],
      ['list', [{ where: { path: 'data', equals: 1 } }], '.where.path'],
      ['list', [{ where: { path: '$.data', equals: {} } }], '.where.equals'],
      ['list', [{ before: '2026-01-01' }], '.before'],
      ['list', [{ after: new Date(Number.NaN) }], '.after'],
      ['list', [{ cursor: 'x' }], '.cursor'],
      ['list', [{ limit: 1_001 }], '.limit'],
      ['failures', [{ state: 'failed' }], '.state'],
      ['find', [], '.idOrKey'],
      ['show', [7], '.eventId'],
      ['groups', [{ state: 'skipped' }], '.state'],
      ['groups', [{ since: 'today' }], '.since'],
      ['stats', [{ over: 'week' }], '.over'],
      ['stats', [{ sources: 'stripe' }], '.sources'],
      ['findByIdempotencyKey', [], '.key'],
      ['findByIdempotencyKey', ['key', 'x'], '.cursor'],
      ['findEvent', [], '.eventId'],
      ['findEvent', [{ eventId: 'x' }], '.eventId'],
      ['findRequest', [{ eventId: 'x' }], '.eventId'],
      ['listEventsByKey', [{ source: 'stripe' }], '.source'],
      ['listEventsByKey', ['stripe'], '.key'],
      ['countEvents', [{ source: 'stripe' }], '.source'],
      ['listEventsByKey', ['stripe', 'evt_1', { cursor: 'x' }], '.cursor'],
      ['listDead', [{ source: 'stripe' }], '.source'],
      ['listDead', [10], ''],
      ['listDead', [{ limit: '10' }], '.limit'],
      ['listDead', [{ limit: -1 }], '.limit'],
      ['listDead', [{ limit: 1.5 }], '.limit'],
      ['listDead', [{ cursor: 7 }], '.cursor'],
      ['listRuns', ['x', { cursor: '1' }], '.cursor'],
      ['listAudit', [{ cursor: 7 }], '.cursor'],
      ['listAudit', [{ cursor: "1' or 1=1" }], '.cursor'],
      ['retry', [7], '.eventId'],
      ['listSteps', [null], '.eventId'],
      ['resolveStep', [], '.eventId'],
      ['resolveStep', ['x', 7, { happened: true }], '.step'],
      ['resolveStep', ['x', 'charge'], ''],
      ['resolveStep', ['x', 'charge', { hapened: true }], '.hapened'],
      ['resolveStep', ['x', 'charge', {}], '.happened'],
      ['resolveStep', ['x', 'charge', { happened: true, handler: 7 }], '.handler'],
      ['forget', [], '.eventId'],
      ['findMessage', [], '.id'],
      ['listMessages', ['dead'], ''],
      ['listMessages', [{ state: [] }], '.state'],
      ['listMessages', [{ state: 'failed' }], '.state'],
      ['listMessages', [{ state: 'dead', source: 'stripe' }], '.source'],
      ['listMessages', [{ state: 'dead', destination: 7 }], '.destination'],
      ['listMessages', [{ state: 'dead', destination: 'sink\0' }], '.destination'],
      ['listMessages', [{ state: 'dead', limit: '10' }], '.limit'],
      ['listMessages', [{ limit: 1_001 }], '.limit'],
      ['listMessages', [{ cursor: 'next' }], '.cursor'],
      ['listMessages', [{ text: 7 }], '.text'],
      ['listMessages', [{ after: '2h' }], '.after'],
      ['retryMessage', [undefined], '.id'],
      ['confirmMessage', [{}], '.id'],
      ['discardMessage', [7], '.id'],
      ['retry', ['x', { reson: 'typo' }], '.reson'],
      ['retry', ['x', { token: '' }], '.token'],
      ['retry', ['x', { actor: 7 }], '.actor'],
      ['replay', ['x'], '.reason'],
      ['replay', ['x', { freshKeys: true }], '.reason'],
      ['replay', ['x', { reason: 'why', freshKeys: 'yes' }], '.freshKeys'],
      ['replay', ['x', { reason: 'why', body: { amount: 1 } }], '.body'],
      ['discard', ['x'], '.reason'],
      ['discard', ['x', { reason: '' }], '.reason'],
      ['release', ['x', {}], '.reason'],
      ['forget', ['x', { token: 'x'.repeat(201) }], '.token'],
      ['listRuns', [7], '.eventId'],
      ['listAudit', [{ event: 'x' }], '.event'],
      ['listAudit', [{ limit: 0 }], '.limit'],
      ['pause', [], ''],
      ['pause', [{}], ''],
      ['pause', [{ source: 'stripe', handler: 'x' }], ''],
      ['pause', [{ source: 'Stripe' }], '.source'],
      ['pause', [{ destination: 'sink\0' }], '.destination'],
      ['pause', [{ handler: '' }], '.handler'],
      ['pause', [{ lane: 'x' }], '.lane'],
      ['pause', [{ lane: { source: 'stripe' } }], '.lane.key'],
      ['pause', [{ lane: { source: 'Stripe', key: 'x' } }], '.lane.source'],
      ['resume', [{ lane: { source: 'stripe', key: 'x', mode: 'fifo' } }], '.lane.mode'],
      ['list', [{ lane: 'x' }], '.lane'],
      ['list', [{ lane: { source: 'stripe', key: 'x' }, key: 'y' }], '.lane'],
      ['pause', [{ source: 'stripe' }, 'why'], ''],
      ['resume', [{ destination: 7 }], '.destination'],
    ])('%s refuses %j by name, before the database does', async (name, args, option) => {
      const { inbox } = await openInbox(store)

      const act = (inbox.admin[name] as AnyAct)(...args)

      await expect(act).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        option: `admin.${name}${option}`,
      })
    })

    test.each<[keyof Operator, readonly unknown[], unknown]>([
      ['findEvent', ['no id\0'], undefined],
      ['findRequest', ['\0'], undefined],
      ['listEventsByKey', ['stripe\0', '\0'], []],
      ['countEvents', ['stripe\0'], 0],
      ['listRuns', ['\0'], []],
      ['listAudit', [{ eventId: 'x' }], []],
      ['listAudit', [{ eventId: '\0' }], []],
      ['listSecrets', [{ source: 'stripe\0' }], []],
      ['listSteps', ['\0'], []],
      ['findMessage', ['\0'], undefined],
    ])('%s finds nothing by %j', async (name, args, nothing) => {
      const { inbox } = await openInbox(store)

      await expect((inbox.admin[name] as AnyAct)(...args)).resolves.toEqual(nothing)
    })

    test.each<[keyof Operator, readonly unknown[], string]>([
      ['retry', ['\ud800'], 'EVENT_UNKNOWN'],
      ['replay', ['x', { reason: 'why' }], 'EVENT_UNKNOWN'],
      ['release', ['\0', { reason: 'why' }], 'EVENT_UNKNOWN'],
      ['discard', ['0', { reason: 'why' }], 'EVENT_UNKNOWN'],
      ['forget', ["'; drop table events --"], 'EVENT_UNKNOWN'],
      ['resolveStep', ['\0', 'charge\0', { happened: true, handler: '\0' }], 'STEP_CERTAIN'],
      ['erase', ['\0', { reason: 'why' }], 'EVENT_UNKNOWN'],
      ['resume', [{ source: 'stripe' }], 'NOT_PAUSED'],
      ['pause', [{ lane: { source: 'stripe', key: '\0' } }], 'LANE_UNKNOWN'],
      ['resume', [{ lane: { source: 'stripe', key: '\ud800' } }], 'NOT_PAUSED'],
      ['retryMessage', ['\0'], 'MESSAGE_UNKNOWN'],
      ['confirmMessage', ['\0'], 'MESSAGE_UNKNOWN'],
      ['discardMessage', ['\0'], 'MESSAGE_UNKNOWN'],
    ])('%s of %j is refused with why and what to do instead', async (name, args, code) => {
      const { inbox } = await openInbox(store)

      const result = await (inbox.admin[name] as AnyAct)(...args)

      expect(result).toEqual({
        status: 'refused',
        code,
        reason: expect.stringMatching(/\w\.$/),
        instead: expect.stringMatching(/\w.*\.$/),
      })
    })

    test('ids may be pasted, in capitals and with spaces around them: what is done has the id itself', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => {
        throw permanent('a bug')
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.dead')
      const pasted = ` ${eventId.toUpperCase()}\n`
      const once = { reason: 'it is a copy', token: 'click-1' }

      const discarded = await inbox.admin.discard(pasted, once)
      const plan = await inbox.admin.bulk.plan({ action: 'retry', filter: {} })
      await inbox.admin.bulk.abort(plan.id.toUpperCase())

      expect(discarded).toEqual({ status: 'done', eventId, run: 0, state: 'discarded' })
      expect(await inbox.admin.discard(eventId, once)).toEqual(discarded)
      expect((await inbox.admin.show(pasted))?.audit).toMatchObject([{ action: 'discard' }])
      expect(await inbox.admin.listAudit({ eventId: pasted })).toHaveLength(1)
      const [aborted] = await inbox.admin.listAudit({ limit: 1 })
      expect(aborted?.subject).toEqual({ kind: 'bulk', id: plan.id })
    })

    test('pause keeps any reason', async () => {
      const { inbox } = await openInbox(store)

      expect(await inbox.admin.pause({ destination: 'sink' }, { reason: 'a\0b' })).toEqual({
        status: 'done',
      })

      const [paused] = await inbox.admin.listPauses()
      expect(paused).toMatchObject({ kind: 'destination', name: 'sink', reason: 'a\ufffdb' })
    })
  })
}
