/**
 * What a test of a handler asks, and what it is told where that does not hold: what was found, why that is, and what to
 * do. Matchers and assertions say the same, since both come from here.
 *
 * @module
 */

import { inspect } from 'node:util'
import type { EventRecord } from '../../model/outcome.ts'
import type { Crash } from './crash-plan.ts'
import type { Delivered } from './deliver.ts'
import type { OutsideCall } from './outside-calls.ts'
import type { SentMessage } from './sink.ts'

/** Whether something holds, and the sentences for the case that the test wanted the opposite. */
export interface Verdict {
  readonly pass: boolean
  readonly message: string
}

/** What an effect is looked for in: a `TestInbox`. */
export interface EffectSubject {
  rows(sql: string, values?: readonly unknown[]): Promise<readonly unknown[]>
  crashes(): readonly Crash[]
  log(): readonly string[]
}

/** What is asked of a delivery. */
export type EndSubject = Pick<Delivered, 'source' | 'type' | 'key' | 'event'>

export async function judgeEffectOnce(
  subject: EffectSubject,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Verdict> {
  const rows = await subject.rows(sql, values)
  if (rows.length === 1)
    return { pass: true, message: `The effect is there once, and should not be: ${sql}` }
  const found = rows
    .slice(0, 5)
    .map((row, at) => `  ${at + 1}. ${inspect(row, { breakLength: 200 })}`)
  const head =
    rows.length === 0
      ? 'The effect is not there, and should be once:'
      : `The effect is there ${rows.length} times, and should be once:`
  const why = rows.length === 0 ? whyMissing(subject.log()) : whyDoubled(subject.crashes())
  return { pass: false, message: [head, `  ${sql}`, ...found, '', ...why].join('\n') }
}

function whyMissing(log: readonly string[]): readonly string[] {
  const lines = log.filter((line) => line.startsWith('error') || line.includes('event.'))
  return [
    ...(lines.length === 0
      ? []
      : ['The inbox has said:', ...lines.slice(-5).map((one) => `  ${one}`), '']),
    'Do: see that the event was delivered, that t.idle() or t.drain() was called after it, and that its handler did not fail or skip it.',
  ]
}

function whyDoubled(crashes: readonly Crash[]): readonly string[] {
  const before = crashes.filter(({ point }) => ROLLS_BACK.has(point))
  if (before.length === 0)
    return [
      'The process did not die before a COMMIT, so that one run of the handler has made all of it, or several events have.',
      'Do: see how many events were delivered, and that two handlers do not do the same.',
    ]
  return [
    ...before.map(({ point, when }) => `The process died at "${point}": ${when}.`),
    'What the handler wrote before was rolled back and is there all the same: it was not written through `tx`, but on a connection of its own, and so it was committed apart from the event. Then the handler ran again.',
    'Do: write through the `tx` that the handler is given (`ctx.tx`, or the `tx` of `step.tx`), and hand it on to the functions that the handler calls.',
  ]
}

/** What was written through `tx` is gone after a death at one of these. */
const ROLLS_BACK: ReadonlySet<string> = new Set(['after-handler', 'before-commit'])

export function judgeSentOnce(messages: readonly SentMessage[]): Verdict {
  const keys = new Set(messages.map(({ idempotencyKey }) => idempotencyKey))
  const isHonoured = messages.every(({ honoursKeys }) => honoursKeys)
  const times = isHonoured ? keys.size : messages.length
  if (times === 1) return { pass: true, message: 'The message was sent once, and should not be' }
  const list = messages
    .slice(0, 5)
    .map(
      ({ destination, idempotencyKey, payload }, at) =>
        `  ${at + 1}. to ${destination}, key ${idempotencyKey}: ${inspect(payload)}`,
    )
  const why =
    messages.length === 0
      ? 'Do: see that the handler calls `send` and does not fail, and that t.idle() or t.drain() was called.'
      : isHonoured
        ? 'Each has a key of its own, so that the other side takes them for as many messages.\nDo: send it once in the handler, or give the calls that mean the same message the same `key`.'
        : "This destination ignores keys, so that it acts on each of them.\nDo: see what `onUncertain` says of a message that may have arrived; 'ask' and 'check' send none twice."
  return {
    pass: false,
    message: [`The message was sent ${times} times, and should be once:`, ...list, '', why].join(
      '\n',
    ),
  }
}

export function judgeMadeOnce(calls: readonly OutsideCall[]): Verdict {
  // A step is what a call is made in, and no call where the calls in it are seen.
  const seen = calls.filter(({ by, isSafe }) => by !== 'step' && !isSafe)
  const made = seen.length > 0 ? seen : calls.filter(({ isSafe }) => !isSafe)
  const keyless = made.filter(({ idempotencyKey }) => idempotencyKey === undefined)
  const keys = new Set(made.map(({ idempotencyKey, to }) => `${to} ${idempotencyKey}`))
  if (made.length > 0 && keyless.length === 0 && keys.size === 1)
    return { pass: true, message: 'The call was made once, and should not be' }
  const list = made
    .slice(0, 5)
    .map(
      ({ to, idempotencyKey, step, event }, at) =>
        `  ${at + 1}. ${to} for ${event}, ${step === undefined ? 'in no step.call' : `in step.call(${JSON.stringify(step)})`}, ${idempotencyKey === undefined ? 'without a key' : `key ${idempotencyKey}`}`,
    )
  return {
    pass: false,
    message: [headOf(made, keyless, keys.size), ...list, '', adviceFor(made, keyless)].join('\n'),
  }
}

function headOf(
  made: readonly OutsideCall[],
  keyless: readonly OutsideCall[],
  keys: number,
): string {
  if (made.length === 0) return 'The call was not made, and should be once:'
  if (keyless.length > 0)
    return `The call was made ${made.length === 1 ? 'once' : `${made.length} times`} without its idempotency key, and the other side acts on each:`
  return `The call was made with ${keys} keys, and the other side acts on each:`
}

function adviceFor(made: readonly OutsideCall[], keyless: readonly OutsideCall[]): string {
  if (made.length === 0)
    return 'Do: see that the handler makes it and does not fail, and that t.idle() or t.drain() was called. What is made neither in a step.call, nor by fetch with the option `fetch`, nor by what calls `outside`, is not seen.'
  if (keyless.some(({ step }) => step === undefined))
    return 'It was made outside of a step: when the process dies after it, the handler runs again and makes it again, and nothing tells that it is the same.\nDo: make it in `step.call(name, ({ idempotencyKey }) => …)` of a handler of `inbox.steps`, and hand the key on; or send a message instead.'
  if (keyless.length > 0)
    return 'When the process dies after it, the step is made again, and without the key the other side cannot tell that it is the same.\nDo: hand on the `idempotencyKey` that the function of the step is given, as the header Idempotency-Key or however the other side takes it.'
  return 'A key that is made up anew in each run tells the other side nothing.\nDo: hand on the `idempotencyKey` that the function of the step is given, and make one call in each step.'
}

export async function judgeDone(subject: EndSubject): Promise<Verdict> {
  return judgeEnd(subject, 'done', undefined)
}

export async function judgeDead(subject: EndSubject, reason?: string | RegExp): Promise<Verdict> {
  return judgeEnd(subject, 'dead', reason)
}

async function judgeEnd(
  subject: EndSubject,
  state: 'done' | 'dead',
  reason: string | RegExp | undefined,
): Promise<Verdict> {
  const record = await subject.event()
  const name = `${subject.source} ${subject.type} ${subject.key}`
  if (record === undefined)
    return {
      pass: false,
      message: `The event ${name} should be ${state}, and nothing of it was stored. Do: look at the answers of the delivery.`,
    }
  const why = reasonOf(record)
  const fits =
    reason === undefined || (typeof reason === 'string' ? why.includes(reason) : reason.test(why))
  if (record.state === state && fits)
    return {
      pass: true,
      message: `The event ${name} is ${state}, and should not be${why === '' ? '' : `: ${why}`}`,
    }
  if (record.state === state)
    return {
      pass: false,
      message: `The event ${name} is ${state} for another reason than ${String(reason)}: ${why}`,
    }
  const waits = UNENDED.has(record.state)
    ? '\nDo: call t.drain(), which skips the waits between attempts.'
    : ''
  return {
    pass: false,
    message: `The event ${name} should be ${state} and is ${record.state}${why === '' ? '' : `: ${why}`}${waits}`,
  }
}

const UNENDED: ReadonlySet<string> = new Set(['ready', 'waiting', 'running'])

function reasonOf({ outcome, failures }: EventRecord): string {
  return outcome?.reason ?? failures.at(-1)?.message ?? ''
}
