import { describe, expect, test } from 'vitest'
import type { StepRecord } from '../../../src/model/step.ts'
import { StepHistory } from '../../../src/work/steps/step-history.ts'

describe('the history of a handler’s steps', () => {
  test('gives each step its place, and what an earlier attempt has left of it', () => {
    const kept = aRecord({ position: 1, name: 'a' })
    const history = new StepHistory([kept])

    expect(history.next('tx', 'a')).toEqual({ position: 1, name: 'a', kept })
    expect(history.next('call', 'b')).toEqual({ position: 2, name: 'b', kept: undefined })
    expect(() => history.requireAllTaken()).not.toThrow()
  })

  test.each([
    ['another name', 'tx', 'b'],
    ['another kind', 'call', 'a'],
  ] as const)('refuses %s at a place that is taken', (_what, kind, name) => {
    const history = new StepHistory([aRecord({ position: 1, name: 'a' })])

    expect(() => history.next(kind, name)).toThrow(
      expect.objectContaining({
        code: 'STEP_HISTORY_CHANGED',
        message: expect.stringContaining(
          `Step history mismatch at 1: an earlier attempt had step.tx("a") here, and now it is step.${kind}("${name}")`,
        ) as string,
      }) as Error,
    )
  })

  test('refuses an end before the steps of an earlier attempt', () => {
    const history = new StepHistory([aRecord({ position: 1 }), aRecord({ position: 2, name: 'b' })])
    history.next('tx', 'a')

    expect(() => history.requireAllTaken()).toThrow(/mismatch at 2.*the handler ended before/)
  })

  test.each([
    ['an empty name', ''],
    ['a name that is too long', 'x'.repeat(201)],
    ['a NUL', 'a\u0000'],
    ['half a character', '\ud800'],
    ['no text', 7 as unknown as string],
  ])('refuses %s', (_what, name) => {
    expect(() => new StepHistory([]).next('tx', name)).toThrow(
      expect.objectContaining({ code: 'STEP_INVALID' }) as Error,
    )
  })

  test('refuses a name that was used', () => {
    const history = new StepHistory([])
    history.next('call', 'mail')

    expect(() => history.next('tx', 'mail')).toThrow(
      expect.objectContaining({ code: 'STEP_INVALID' }) as Error,
    )
  })
})

function aRecord(input: Partial<StepRecord>): StepRecord {
  return {
    handler: 'h',
    position: 1,
    kind: 'tx',
    name: 'a',
    state: 'done',
    starts: 1,
    startedAt: new Date(0),
    result: undefined,
    ...input,
  }
}
