import { describe, expect, test } from 'vitest'
import type { RetryOptions } from '../../src/model/retry-policy.ts'
import { permanent, retryAfter, skip } from '../../src/model/handler-results.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/**
 * Handlers that end as no handler should, written with `on` and with `steps`. Run by
 * `test/inbox/<store>.test.ts`.
 */
export function oddEndsContract(store: StoreUnderTest): void {
  describe.each(['on', 'steps'] as const)(`${store.name}: odd ends of handlers of %s`, (method) => {
    test.each<[string, () => unknown, string]>([
      ['nothing', () => undefined, 'undefined'],
      ['an object without prototype', () => Object.create(null) as object, 'nothing in it'],
      ['an object with a message', () => ({ message: 'quota exceeded' }), 'quota exceeded'],
      ['an object with anything else', () => ({ status: 500 }), 'with status'],
      ['an error whose message is none', () => withMessage({ value: { a: 1 } }), 'no error'],
      ['an error whose message is missing', () => withMessage({ value: undefined }), 'no error'],
      ['an error that cannot be read', () => withMessage({ get: refuse }), 'cannot be read'],
    ])('to throw %s is a failed attempt like any other', async (_what, thrown, reason) => {
      const { inbox, deliverUntil } = await openInbox(store)
      register(inbox, { method, retry: { firstMs: 0, attemptsMax: 2 } }, () => {
        throw thrown()
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      const event = await inbox.admin.findEvent(eventId)
      expect(event?.failures.map((failure) => failure.reason)).toEqual(['error', 'error'])
      expect(event?.reason).toContain(reason)
    })

    test('what is in a thrown object is not written down: it may be a secret', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      register(inbox, { method, retry: { attemptsMax: 1 } }, () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- what some libraries do
        throw { config: { headers: { authorization: 'canary' } } }
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      expect(JSON.stringify(await inbox.admin.findEvent(eventId))).not.toContain('canary')
    })

    test('a verdict that is returned and not thrown means the same', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      register(inbox, { method }, ({ type }) =>
        type === 'invoice.voided' ? permanent('no amount') : retryAfter(3_600_000),
      )
      await inbox.start()
      const dead = next('event.dead')
      const failed = next('event.failed')

      await deliver('evt_1', { type: 'invoice.voided' })
      await deliver('evt_2', { type: 'invoice.paid' })

      expect((await dead).reason).toContain('no amount')
      expect(await failed).toMatchObject({ retryInMs: 3_600_000 })
    })

    test('a skip whose reason is no text ends the event as skipped', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      register(inbox, { method }, () => skip(undefined as unknown as string))
      await inbox.start()

      expect(await deliverUntil('evt_1', 'event.skipped')).toMatchObject({ reason: 'undefined' })
    })
  })
}

function register(
  inbox: TestInbox,
  { method, retry = {} }: { method: 'on' | 'steps'; retry?: RetryOptions },
  handler: (event: { readonly type: string }) => unknown,
): void {
  if (method === 'on') inbox.on('stripe', '*', { retry }, handler)
  else inbox.steps('stripe', '*', { retry }, handler)
}

function withMessage(message: PropertyDescriptor): Error {
  return Object.defineProperty(new Error('as it was'), 'message', message)
}

function refuse(): never {
  throw new Error('not to be read')
}
