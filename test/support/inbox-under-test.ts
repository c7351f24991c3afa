/**
 * An inbox on a fresh database with one signed source, for the length of the running test.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import type { InboxOptions } from '../../src/inbox/options.ts'
import type { Acknowledgement } from '../../src/model/acknowledgement.ts'
import type { Source } from '../../src/model/source.ts'
import type { Destination } from '../../src/outbox/destination.ts'
import type { SecretOptions } from '../../src/providers/define-source.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import type { StripeEvents } from '../../src/providers/vendors/stripe.ts'
import type { HappeningName, Happenings } from '../../src/telemetry/happenings.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { sign } from '../../src/testing/index.ts'
import { openStore } from './store-under-test.ts'
import type { OpenedStore, QueryTx, StoreUnderTest } from './store-under-test.ts'

export const SECRET = 'whsec_test_secret_of_some_length'

export interface InboxSetup {
  readonly source?: Partial<SecretOptions>
  readonly receive?: InboxOptions<Record<string, Source>, unknown>['receive']
  readonly worker?: InboxOptions<Record<string, Source>, unknown>['worker']
  readonly destinations?: readonly Destination[]
  readonly relay?: InboxOptions<Record<string, Source>, unknown>['relay']
  readonly logger?: Logger
}

export type TestInbox = Inbox<{ stripe: Source<StripeEvents>; pings: Source }, QueryTx>

export interface InboxUnderTest extends OpenedStore {
  readonly inbox: TestInbox
  /** A signed delivery of an event. */
  deliver(key: string, options?: { type?: string; amount?: number }): Promise<Acknowledgement>
  /** The same, and waits until something happens: what becomes of the event, where it is the only one. */
  deliverUntil<Name extends HappeningName>(key: string, name: Name): Promise<Happenings[Name]>
  /** A signed delivery of any bytes, with the key in a header. */
  deliverBytes(key: string, body: Uint8Array | string): Promise<Acknowledgement>
  /** Resolves with the next happening of that name that fits. Ask before causing it. */
  next<Name extends HappeningName>(
    name: Name,
    fits?: (happening: Happenings[Name]) => boolean,
  ): Promise<Happenings[Name]>
  /** Another inbox on the same database, as in another process. */
  another(setup?: InboxSetup): TestInbox
}

export async function openInbox(
  underTest: StoreUnderTest,
  setup: InboxSetup = {},
): Promise<InboxUnderTest> {
  const opened = await openStore(underTest)
  await opened.createEffects()
  const another = (otherSetup: InboxSetup = {}): TestInbox => {
    const made = createTestInbox(opened, otherSetup)
    onTestFinished(() => made.stop())
    // What is done through `inbox.admin` may go another way, and must be the same.
    if (underTest.operate) Object.defineProperty(made, 'admin', { value: underTest.operate(made) })
    return made
  }
  const inbox = another(setup)
  const next: InboxUnderTest['next'] = (name, fits = () => true) =>
    new Promise((resolve) => {
      const stop = inbox.events.on(name, (happening) => {
        if (!fits(happening)) return
        stop()
        resolve(happening)
      })
    })
  return {
    ...opened,
    inbox,
    another,
    deliver: (key, options) => deliver(inbox, key, options),
    deliverUntil: async (key, name) => {
      const happening = next(name)
      await deliver(inbox, key)
      return happening
    },
    deliverBytes: (key, body) => inbox.receive('pings', signedPing(key, body)),
    next,
  }
}

export function deliver(
  inbox: Pick<TestInbox, 'receive'>,
  key: string,
  { type = 'invoice.paid', amount = 1 }: { type?: string; amount?: number } = {},
): Promise<Acknowledgement> {
  const body = JSON.stringify({
    id: key,
    type,
    created: 1_767_323_045,
    livemode: false,
    data: { object: { amount } },
  })
  return inbox.receive('stripe', sign('stripe', { key, type, body }, { secret: SECRET }))
}

/** Resolves when so many events are done. Ask before the first can be. */
export function untilDone(inbox: Pick<TestInbox, 'events'>, count: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0
    inbox.events.on('event.done', () => {
      seen += 1
      if (seen === count) resolve()
    })
  })
}

export const PING_OPTIONS = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: [SECRET],
  key: 'header:x-id',
} as const

function signedPing(key: string, body: Uint8Array | string) {
  return sign('hmac', { body, headers: { 'x-id': key } }, PING_OPTIONS)
}

const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function createTestInbox({ database }: OpenedStore, setup: InboxSetup): TestInbox {
  return createInbox({
    store: database.newStore(),
    sources: {
      stripe: stripe({ secrets: [SECRET], ...setup.source }),
      pings: hmac({ ...PING_OPTIONS, sameBytes: 'run' }),
    },
    logger: setup.logger ?? SILENT,
    // Long enough for a machine that is busy; a test of deadlines gives its own.
    receive: { answerTimeoutMs: 30_000, ...setup.receive },
    destinations: setup.destinations ?? [],
    relay: setup.relay ?? {},
    worker: setup.worker === false ? false : { pollMs: 50, stopGraceMs: 2_000, ...setup.worker },
  })
}
