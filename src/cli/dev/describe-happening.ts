/**
 * What a person who watches is told of a happening, in one line. Deliveries are told by their answers, in `tail.ts`.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import { HAPPENING_LEVELS } from '../../telemetry/logger.ts'
import type { HappeningName, Happenings } from '../../telemetry/happenings.ts'

type Describe = { readonly [Name in HappeningName]?: (happening: Happenings[Name]) => string }

const DESCRIPTIONS: Describe = {
  'event.done': ({ durationMs }) => `done in ${milliseconds(durationMs)}`,
  'event.skipped': ({ reason }) => `skipped: ${reason}`,
  'event.failed': ({ error, retryInMs }) =>
    `failed: ${error.message}; again in ${seconds(retryInMs)}`,
  'event.dead': ({ error, reason }) => `dead: ${error?.message ?? reason}`,
  'event.unhandled': () => 'kept: no handler is for it',
  'event.crashed': ({ crashes, dead }) =>
    dead ? `dead: it crashed its worker ${crashes} times` : 'crashed its worker: it runs again',
  'message.sent': ({ destination, durationMs, attempt }) =>
    `delivered to ${destination} in ${milliseconds(durationMs)}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
  'message.failed': ({ destination, detail, retryInMs }) =>
    `waits for ${destination}: ${withoutName(detail)}; again in ${seconds(retryInMs)}`,
  'message.dead': ({ destination, reason }) => `dead on its way to ${destination}: ${reason}`,
  'message.unknown': ({ destination, reason }) =>
    `may have arrived at ${destination}, and waits for a person: ${reason}`,
  'destination.held': ({ destination, forMs, cause }) =>
    `${destination} is left alone for ${seconds(forMs)}: ${cause}`,
  'destination.paused': ({ destination, reason }) =>
    `${destination} is paused until a person resumes it: ${reason}`,
  'worker.late': ({ stoodStillMs }) =>
    `the worker could not say for ${seconds(stoodStillMs)} that it lives: the machine slept, the process was busy, or the store was away`,
  'clock.skewed': ({ skewMs }) =>
    `the clocks of this machine and of the database differ by ${seconds(Math.abs(skewMs))}: what senders sign may look stale`,
  'source.warning': ({ warning }) => warning,
  'store.warning': ({ warning }) => warning,
  'store.unavailable': ({ error }) =>
    `the store is away: ${error.message}; deliveries are answered 503 until it is back`,
  'store.decrypt-failed': ({ error }) => error.message,
  'store.available': ({ downMs }) => `the store is back after ${seconds(downMs)}`,
}

/**
 * What the answers of deliveries say already, or the line that says that the store is away; behind a pooler nothing is
 * ever heard, and one process hears itself.
 */
const TOLD_ELSEWHERE: readonly HappeningName[] = [
  'delivery.duplicate',
  'delivery.conflict',
  'delivery.quarantined',
  'delivery.refused',
  'delivery.malformed',
  'delivery.unavailable',
  'store.listen-lost',
]

/** `undefined` for what needs no line. What went wrong has one, also where it has no words of its own here. */
export function describeHappening<Name extends HappeningName>(
  name: Name,
  happening: Happenings[Name],
): string | undefined {
  const describe: ((happening: Happenings[Name]) => string) | undefined = DESCRIPTIONS[name]
  if (describe !== undefined) return describe(happening)
  const isWrong = ['warn', 'error'].includes(HAPPENING_LEVELS[name])
  if (!isWrong || TOLD_ELSEWHERE.includes(name) || isOutage(happening)) return undefined
  const words = Object.entries(happening).flatMap(([key, value]) => wordsOf(key, value))
  return `${name}: ${words.join(', ')}`
}

/** One line says that the store is away; each part of the inbox that notices would say it again. */
function isOutage(happening: object): boolean {
  const { error } = happening as { readonly error?: unknown }
  return error instanceof HookonceError && error.retryable
}

function wordsOf(key: string, value: unknown): readonly string[] {
  if (value instanceof Error) return [value.message]
  if (key === 'hint' || key === 'warning' || key === 'reason') return [String(value)]
  return ['string', 'number', 'boolean'].includes(typeof value) ? [`${key} ${String(value)}`] : []
}

/** That it is an error is known. */
function withoutName(detail: string): string {
  return detail.replace(/^Error: /, '')
}

function milliseconds(ms: number): string {
  return `${Math.max(1, Math.round(ms))} ms`
}

function seconds(ms: number): string {
  return ms < 1_000 ? milliseconds(ms) : `${Math.round(ms / 1_000)} s`
}
