/**
 * The judgements as matchers of vitest and jest, and as assertions for any other runner.
 *
 * @module
 */

import { AssertionError } from 'node:assert'
import type { OutsideCall } from './outside-calls.ts'
import type { SentMessage } from './sink.ts'
import {
  judgeDead,
  judgeDone,
  judgeEffectOnce,
  judgeMadeOnce,
  judgeSentOnce,
} from './judgements.ts'
import type { EffectSubject, EndSubject, Judgement } from './judgements.ts'

/** What a matcher returns, in vitest and jest alike. */
export interface MatcherResult {
  readonly pass: boolean
  readonly message: () => string
}

/**
 * Matchers for vitest and jest. `import 'hookonce/testing/vitest'`, or `'hookonce/testing/jest'`, or
 * `'hookonce/testing/jest-globals'`, gives them to `expect`, with their types; for another `expect` there is
 * `expect.extend(hookonceMatchers)`.
 */
export const hookonceMatchers = Object.freeze({
  toHaveTakenEffectOnce: async (
    received: EffectSubject,
    sql: string,
    values?: readonly unknown[],
  ): Promise<MatcherResult> => asResult(await judgeEffectOnce(received, sql, values)),
  toBeDone: async (received: EndSubject): Promise<MatcherResult> =>
    asResult(await judgeDone(received)),
  toBeDead: async (received: EndSubject, reason?: string | RegExp): Promise<MatcherResult> =>
    asResult(await judgeDead(received, reason)),
  toHaveBeenSentOnce: (received: readonly SentMessage[]): MatcherResult =>
    asResult(judgeSentOnce(received)),
  toHaveBeenMadeOnce: (received: readonly OutsideCall[]): MatcherResult =>
    asResult(judgeMadeOnce(received)),
})

/** The matchers as `expect(…)` has them. */
export interface HookonceMatchers<Result = void> {
  /** Of a test inbox: the query finds one row. Wait for it. */
  toHaveTakenEffectOnce(sql: string, values?: readonly unknown[]): Promise<Result>
  /** Of a delivery: its event is done. Wait for it. */
  toBeDone(): Promise<Result>
  /** Of a delivery: its event is dead, for a reason that has this text or fits this pattern. Wait for it. */
  toBeDead(reason?: string | RegExp): Promise<Result>
  /** Of `t.messages(…)`: the destination takes them for one message. */
  toHaveBeenSentOnce(): Result
  /** Of `t.calls(…)`: each has a key, and the other side takes them for one call. */
  toHaveBeenMadeOnce(): Result
}

/**
 * That the query finds one row. This and the following are for `node:test`, mocha and whatever else has no matchers.
 *
 * @throws AssertionError
 */
export async function expectEffectOnce(
  subject: EffectSubject,
  sql: string,
  values?: readonly unknown[],
): Promise<void> {
  demand(await judgeEffectOnce(subject, sql, values))
}

/**
 * That the event of a delivery is done.
 *
 * @throws AssertionError
 */
export async function expectDone(subject: EndSubject): Promise<void> {
  demand(await judgeDone(subject))
}

/**
 * That the event of a delivery is dead, for a reason that has this text or fits this pattern.
 *
 * @throws AssertionError
 */
export async function expectDead(subject: EndSubject, reason?: string | RegExp): Promise<void> {
  demand(await judgeDead(subject, reason))
}

/**
 * That a destination takes these for one message.
 *
 * @throws AssertionError
 */
export function expectSentOnce(messages: readonly SentMessage[]): void {
  demand(judgeSentOnce(messages))
}

/**
 * That each of these calls has a key, and the other side takes them for one.
 *
 * @throws AssertionError
 */
export function expectMadeOnce(calls: readonly OutsideCall[]): void {
  demand(judgeMadeOnce(calls))
}

function demand({ pass, message }: Judgement): void {
  if (!pass) throw new AssertionError({ message })
}

function asResult({ pass, message }: Judgement): MatcherResult {
  return { pass, message: () => message }
}
