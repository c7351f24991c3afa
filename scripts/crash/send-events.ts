/**
 * The senders: each sends an event again until it is answered 200, and writes it down then.
 *
 * @module
 */

import { fromPartner, fromRival } from '../../test/support/faults/fault-sources.ts'
import { post } from '../../test/support/faults/post.ts'
import { Random } from '../../test/support/faults/random.ts'
import { createEvent } from './create-event.ts'
import { sleep } from './crash-run.ts'
import type { CrashRun, SentEvent } from './crash-run.ts'

const SENDERS = 6
const SENT_AT_ONCE = 20

/** Sends new events, and now and then an old one again, until the run is over. */
export async function sendUntilOver(run: CrashRun, seed: number): Promise<void> {
  const senders = Array.from({ length: SENDERS }, (_, n) =>
    sendOn(run, new Random(seed + n + 1), n),
  )
  await Promise.all(senders)
}

/** Sends all of these, many at once; resolves when each is acknowledged, or the run is over. */
export async function sendEvents(run: CrashRun, events: readonly SentEvent[]): Promise<void> {
  const left = [...events]
  const random = new Random(run.random.between(0, 1_000_000))
  const sendNext = async (): Promise<void> => {
    for (let event = left.shift(); event !== undefined; event = left.shift())
      await sendUntilAcknowledged(run, random, event)
  }
  await Promise.all(Array.from({ length: SENT_AT_ONCE }, sendNext))
}

async function sendOn(run: CrashRun, random: Random, sender: number): Promise<void> {
  const sent: SentEvent[] = []
  for (let i = 0; !run.isOver; i += 1) {
    const isOld = sent.length > 0 && random.next() < 0.2
    const event = isOld ? random.pick(sent) : createEvent(random, `evt_${sender}_${i}`)
    if (await sendUntilAcknowledged(run, random, event)) sent.push(event)
    await sleep(random.between(0, 20))
  }
}

async function sendUntilAcknowledged(
  run: CrashRun,
  random: Random,
  event: SentEvent,
): Promise<boolean> {
  run.sent.set(event.key, event)
  while (!run.isOver) {
    if ((await sendOnce(run, random, event)) === 200) {
      run.acknowledged.set(event.key, event)
      return true
    }
    await sleep(20)
  }
  return false
}

async function sendOnce(run: CrashRun, random: Random, event: SentEvent): Promise<number> {
  const url = run.fleet.findUrl(random)
  if (url === undefined) return 0
  const { source, effects: _, ...scripted } = event
  const delivery = source === 'rival' ? fromRival(scripted) : fromPartner(scripted)
  try {
    return (await post(url, delivery, { source })).status
  } catch {
    // The receiver is gone, and with it the answer.
    return 0
  }
}
