import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { destination } from '../../src/outbox/destination.ts'
import { github } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { SECRET } from '../support/inbox-under-test.ts'
import { limitsIn, pruneRows } from '../support/retention-steps.ts'
import { WRITE } from '../support/step-handlers.ts'
import { openStore } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What a person does with events, for both kinds of handlers, each of which writes a row and sends a message. */
const KINDS = ['a transactional handler', 'a step handler'] as const
const WHY = { reason: 'a test', actor: 'ada' }

interface Scene {
  readonly inbox: Awaited<ReturnType<typeof open>>['inbox']
  /** A signed delivery of GitHub, whose id is not signed. */
  deliver(key: string, amount?: number): Promise<{ readonly outcome: string; readonly id: string }>
  /** The same, and waits until its event has ended and its message is sent. */
  deliverAndRun(key: string, amount?: number): Promise<string>
  /** Waits until so many messages were sent in all. */
  untilSent(count: number): Promise<void>
  untilState(id: string, state: string): Promise<void>
}

interface Story {
  readonly name: string
  readonly run: (scene: Scene, more: Awaited<ReturnType<typeof open>>) => Promise<void>
  /** What the handlers have written, in any order. */
  readonly effects: readonly string[]
  /** What was sent, with how many keys. */
  readonly sent: readonly string[]
  readonly keys: number
}

const STORIES: readonly Story[] = [
  {
    name: 'R21: a conflict that is released writes and sends its own',
    run: async ({ inbox, deliver, deliverAndRun, untilSent }) => {
      await deliverAndRun('a', 1)
      const { outcome, id } = await deliver('a', 2)
      expect(outcome).toBe('conflict')
      expect(await inbox.admin.release(id, WHY)).toMatchObject({ status: 'done' })
      await untilSent(2)
      expect(await deliver('a', 2)).toMatchObject({ outcome: 'duplicate' })
    },
    effects: ['a 1', 'a 2'],
    sent: ['a 1', 'a 2'],
    keys: 2,
  },
  {
    name: 'R24: the same bytes under another id write and send nothing until they are released',
    run: async ({ inbox, deliver, deliverAndRun, untilSent }, { countEffects }) => {
      await deliverAndRun('a', 1)
      const { outcome, id } = await deliver('b', 1)
      expect([outcome, await countEffects()]).toEqual(['quarantined', 1])
      expect(await inbox.admin.release(id, WHY)).toMatchObject({ status: 'done' })
      await untilSent(2)
    },
    effects: ['a 1', 'b 1'],
    sent: ['a 1', 'b 1'],
    keys: 2,
  },
  {
    name: 'Y01: a replay writes once more, and sends nothing under a key that was used',
    run: async ({ inbox, deliverAndRun, untilState }) => {
      const id = await deliverAndRun('a', 1)
      expect(await inbox.admin.replay(id, WHY)).toMatchObject({ status: 'done', run: 1 })
      await untilState(id, 'done')
    },
    effects: ['a 1', 'a 1'],
    sent: ['a 1'],
    keys: 1,
  },
  {
    name: 'Y08: a replay with an edited body and fresh keys writes and sends what was edited',
    run: async ({ inbox, deliverAndRun, untilSent }) => {
      const id = await deliverAndRun('a', 1)
      const body = '{"amount":9}'
      await inbox.admin.replay(id, { ...WHY, body, freshKeys: true })
      await untilSent(2)
      const event = await inbox.admin.findEvent(id)
      expect(Buffer.from(event?.body ?? []).toString()).toBe('{"amount":1}')
    },
    effects: ['a 1', 'modified a 9'],
    sent: ['a 1', 'modified a 9'],
    keys: 2,
  },
  {
    name: 'a dead event that is forgotten and redelivered writes and sends once',
    run: async ({ inbox, deliver, untilSent, untilState }, { failing }) => {
      failing.now = true
      const { id } = await deliver('a', 1)
      await untilState(id, 'dead')
      failing.now = false
      expect(await inbox.admin.forget(id, WHY)).toMatchObject({ state: 'discarded' })
      expect(await deliver('a', 1)).toMatchObject({ outcome: 'accepted' })
      await untilSent(1)
      expect(await inbox.admin.retry(id, WHY)).toMatchObject({ code: 'EVENT_DISCARDED' })
      expect(await inbox.admin.replay(id, WHY)).toMatchObject({ code: 'EVENT_ARRIVED' })
    },
    effects: ['a 1'],
    sent: ['a 1'],
    keys: 1,
  },
  {
    name: 'P02: a redelivery after the payload is gone writes and sends nothing',
    run: async ({ deliver, deliverAndRun }, { store }) => {
      const id = await deliverAndRun('a', 1)
      await pruneRows(store, limitsIn(31))
      expect(await deliver('a', 1)).toMatchObject({ outcome: 'duplicate', id })
    },
    effects: ['a 1'],
    sent: ['a 1'],
    keys: 1,
  },
  {
    name: 'P09: an event that is erased leaves nothing of its body, and its redelivery does nothing',
    run: async ({ inbox, deliver, deliverAndRun }) => {
      const id = await deliverAndRun('a', 8_675_309)
      expect(await tellAll(inbox, id)).toContain('8675309')
      expect(await inbox.admin.erase(id, WHY)).toMatchObject({ status: 'done' })
      expect(await tellAll(inbox, id)).not.toContain('8675309')
      expect(await deliver('a', 8_675_309)).toMatchObject({ outcome: 'duplicate', id })
    },
    effects: ['a 8675309'],
    sent: ['a 8675309'],
    keys: 1,
  },
]

/** Run by `test/inbox/<store>.test.ts`. */
export function bothKindsContract(store: StoreUnderTest): void {
  describe.each(KINDS)(`${store.name}: with %s and a message`, (kind) => {
    test.each(STORIES)('$name', async ({ run, effects, sent, keys }) => {
      const opened = await open(store, kind)
      await opened.inbox.start()

      await run(opened, opened)
      await opened.inbox.stop()

      const written = await opened.database.query('select note from effects')
      expect(written.map(({ note }) => String(note)).toSorted()).toEqual(effects.toSorted())
      expect(opened.sent.map(({ text }) => text).toSorted()).toEqual(sent.toSorted())
      expect(new Set(opened.sent.map(({ key }) => key)).size).toBe(keys)
    })
  })
}

async function open(underTest: StoreUnderTest, kind: (typeof KINDS)[number]) {
  const { database, createEffects, countEffects, store } = await openStore(underTest)
  await createEffects()
  const sent: { readonly key: string; readonly text: string }[] = []
  const failing = { now: false }
  const inbox = createInbox({
    store: database.newStore(),
    sources: { github: github({ secrets: [SECRET] }) },
    destinations: [
      destination('mail', ({ key, body }) => {
        const { text } = JSON.parse(Buffer.from(body).toString()) as { readonly text: string }
        sent.push({ key, text })
      }),
    ],
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    receive: { answerTimeoutMs: 30_000, rememberMax: 0 },
    worker: { pollMs: 50 },
    relay: { pollMs: 50 },
  })
  onTestFinished(() => inbox.stop())
  if (kind === 'a transactional handler')
    inbox.on('github', '*', async (event, { tx, send }) => {
      if (failing.now) throw permanent('a bug')
      await tx.query(WRITE, [event.key, textOf(event)])
      await send('mail', { text: textOf(event) })
    })
  else
    inbox.steps('github', '*', async (event, step) => {
      if (failing.now) throw permanent('a bug')
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, textOf(event)])
        return textOf(event)
      })
      await step.send('mail', { text: textOf(event) })
    })
  const deliver = async (key: string, amount = 1) => {
    const signed = sign('github', { key, body: JSON.stringify({ amount }) }, { secret: SECRET })
    const { outcome, eventId = '' } = await inbox.receive('github', signed)
    return { outcome, id: eventId }
  }
  const untilSent = async (count: number): Promise<void> => {
    await expect.poll(() => sent.length).toBe(count)
    await expect
      .poll(async () => (await inbox.admin.listMessages({ state: 'sent' })).messages.length)
      .toBe(count)
  }
  const untilState = async (id: string, state: string): Promise<void> => {
    await expect.poll(async () => (await inbox.admin.findEvent(id))?.state).toBe(state)
  }
  const deliverAndRun = async (key: string, amount?: number): Promise<string> => {
    const { id } = await deliver(key, amount)
    await untilState(id, 'done')
    await untilSent(1)
    return id
  }
  return {
    inbox,
    store,
    database,
    countEffects,
    sent,
    failing,
    deliver,
    deliverAndRun,
    untilSent,
    untilState,
  }
}

function textOf(event: {
  readonly key: string
  readonly payload: unknown
  readonly isModified: boolean
}): string {
  const { amount } = event.payload as { readonly amount: number }
  return `${event.isModified ? 'modified ' : ''}${event.key} ${amount}`
}

/** All that an operator is told of an event, its body and its messages included. */
async function tellAll(inbox: Scene['inbox'], id: string): Promise<string> {
  const shown = await inbox.admin.show(id)
  const body = Buffer.from(shown?.event.body ?? []).toString()
  const messages = await Promise.all(
    (shown?.messages ?? []).map(async (message) => {
      const whole = await inbox.admin.findMessage(message.id)
      return [whole, Buffer.from(whole?.body ?? []).toString()]
    }),
  )
  return JSON.stringify([shown, body, messages])
}
