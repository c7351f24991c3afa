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
import { listRepeated } from './handler-runs.ts'
import type { HandlerRun } from './handler-runs.ts'
import type { OutsideCall } from './outside-calls.ts'
import type { SentMessage } from './sink.ts'

/** Whether something holds, and the sentences for the case that the test wanted the opposite. */
export interface Judgement {
  readonly pass: boolean
  readonly message: string
}

/** What an effect is looked for in: a `TestInbox`. */
export interface EffectSubject {
  rows(sql: string, values?: readonly unknown[]): Promise<readonly unknown[]>
  crashes(): readonly Crash[]
  runs(): readonly HandlerRun[]
  log(): readonly string[]
}

/** What is asked of a delivery. */
export type EndSubject = Pick<Delivered, 'source' | 'type' | 'key' | 'event'>

export async function judgeEffectOnce(
  subject: EffectSubject,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Judgement> {
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
  const why = rows.length === 0 ? whyMissing(subject.log()) : whyDoubled(subject)
  return { pass: false, message: [head, `  ${sql}`, ...found, '', ...why].join('\n') }
}

function whyMissing(log: readonly string[]): readonly string[] {
  const isLocked = log.some((line) => line.includes('database is locked'))
  const lines = log.filter((line) => line.startsWith('error') || line.includes('event.'))
  return [
    ...(lines.length === 0
      ? []
      : ['The inbox has said:', ...lines.slice(-5).map((one) => `  ${one}`), '']),
    ...(isLocked ? [ONE_WRITER] : []),
    'Do: see that the event was delivered, that t.idle() or t.drain() was called after it, that its handler did not fail or skip it, and that it waits (`await`) for what it writes.',
  ]
}

const ONE_WRITER =
  'SQLite has one writer. While a handler has its `tx`, no other connection can write: did the handler write on a connection of its own beside it? Do: write through the `tx`.'

function whyDoubled(subject: EffectSubject): readonly string[] {
  const repeated = listRepeated(subject.runs())
  const [runs] = repeated
  if (runs === undefined)
    return [
      'No handler ran twice for the same event, so that one run of a handler has made all of it, or several events have.',
      'Do: see how many events were delivered, and that two handlers do not do the same.',
    ]
  const isSteps = repeated.some(([first]) => first?.isSteps)
  return [
    ...subject.crashes().map(({ point, when }) => `The process died at "${point}": ${when}.`),
    ...listThrown(repeated),
    ...repeated
      .slice(0, RUNS_SHOWN)
      .map((one) => `The handler of ${nameOf(one[0])} ran ${one.length} times.`),
    isSteps
      ? 'A step handler begins anew each time, and only what was kept of its steps is not done again. What is there more than once was written in no `step.tx`, or not through the `tx` of it, but on a connection of its own.'
      : 'What it wrote in a run that did not commit was rolled back, and is there all the same: it was not written through `tx`, but on a connection of its own, and so it was committed apart from the event.',
    'Do: write through the `tx` that the handler is given (`ctx.tx`, or the `tx` of `step.tx`), and hand it on to the functions that the handler calls.',
  ]
}

const RUNS_SHOWN = 3

function listThrown(repeated: readonly (readonly HandlerRun[])[]): readonly string[] {
  return repeated
    .flat()
    .filter(({ end }) => end === 'threw')
    .slice(0, RUNS_SHOWN)
    .map((run) => `Attempt ${run.attempt} of ${nameOf(run)} failed: ${run.message ?? ''}`)
}

function nameOf(run: HandlerRun | undefined): string {
  return `${run?.type ?? ''} ${run?.event ?? ''}`
}

export function judgeSentOnce(messages: readonly SentMessage[]): Judgement {
  // A key says which message it is to one destination: another one has not seen it.
  const known = new Set(
    messages.map(({ destination, idempotencyKey }) =>
      JSON.stringify([destination, idempotencyKey]),
    ),
  )
  const destinations = new Set(messages.map(({ destination }) => destination))
  const isHonoured = messages.every(({ honoursKeys }) => honoursKeys)
  const times = isHonoured ? known.size : messages.length
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
      : destinations.size > 1
        ? "They went to several destinations, and each of these acts on what it gets, also where the key is the same.\nDo: send it to one of them, or look at one destination at a time, with its name in `t.messages('…')`."
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

export function judgeMadeOnce(calls: readonly OutsideCall[]): Judgement {
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

export async function judgeDone(subject: EndSubject): Promise<Judgement> {
  return judgeEnd(subject, 'done', undefined)
}

export async function judgeDead(subject: EndSubject, reason?: string | RegExp): Promise<Judgement> {
  return judgeEnd(subject, 'dead', reason)
}

async function judgeEnd(
  subject: EndSubject,
  state: 'done' | 'dead',
  reason: string | RegExp | undefined,
): Promise<Judgement> {
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
  return {
    pass: false,
    message: `The event ${name} should be ${state} and is ${record.state}${why === '' ? '' : `: ${why}`}${adviceOf(record, subject)}`,
  }
}

function adviceOf({ state }: EventRecord, { source, type }: EndSubject): string {
  if (UNENDED.has(state))
    return '\nDo: call t.idle() after the delivery, since nothing runs by itself; t.drain() also skips the waits between attempts.'
  if (state !== 'unhandled') return ''
  const known = [source, type].map((name) => JSON.stringify(name)).join(', ')
  return `\nNone of the handlers is for it. Do: register one in \`handlers\`: inbox.on(${known}, …).`
}

const UNENDED: ReadonlySet<string> = new Set(['ready', 'waiting', 'running'])

function reasonOf({ outcome, failures }: EventRecord): string {
  return outcome?.reason ?? failures.at(-1)?.message ?? ''
}
