import { describe, expect, test } from 'vitest'
import { findExcess, nextUsual } from '../../src/retention/excess.ts'
import { limitsAt } from '../../src/retention/limits.ts'
import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import type { PruneShare, PruneSurvey } from '../../src/store/contract/retention.ts'

const DAY_MS = 86_400_000
const NOW_MS = 1_800_000_000_000
const NONE: PruneShare = { there: 0, old: 0, expected: 0 }

interface Given {
  readonly events?: Partial<PruneShare>
  readonly keys?: Partial<PruneShare>
  /** How many days ago the last run was. */
  readonly pauseDays?: number
  readonly usual?: number
}

function aSurvey({ events, keys, pauseDays = 1, usual = 0 }: Given): PruneSurvey {
  return {
    nowMs: NOW_MS,
    limits: limitsAt(RETENTION_DEFAULTS, NOW_MS),
    events: { ...NONE, expected: 1 / 30, ...events },
    keys: { ...NONE, expected: 1 / 45, ...keys },
    last: { atMs: NOW_MS - pauseDays * DAY_MS, usualEvents: usual, usualKeys: usual },
  }
}

describe('P07: a run stops', () => {
  test.each<[string, Given, RegExp]>([
    [
      'when more than a fifth of the events would go',
      { events: { there: 10_000, old: 2_001 } },
      /^2001 of 10000 events would lose their payload$/,
    ],
    [
      'when more than a fifth of the keys would go',
      { keys: { there: 10_000, old: 2_001 } },
      /^2001 of 10000 events would lose their key$/,
    ],
    [
      'when the clock is sixty days ahead, however few there are',
      { events: { there: 10, old: 10 }, pauseDays: 61 },
      /10 of 10 events .* the last run was 61 days ago$/,
    ],
    [
      'when the clock is sixty days ahead, whatever is usual',
      { keys: { there: 100_000, old: 50_000 }, pauseDays: 61, usual: 50_000 },
      /50000 of 100000 events would lose their key, /,
    ],
    [
      'when the last run is still to come',
      { events: { there: 10, old: 10 }, pauseDays: -3 },
      /-3 days ago$/,
    ],
    [
      'when it is three times what a week of five is',
      { events: { there: 100_000, old: 61_000, expected: 0.2 } },
      /^61000 of 100000/,
    ],
    [
      'when it is more than twice what is usual',
      { events: { there: 100_000, old: 30_000 }, usual: 14_999 },
      /^30000 of 100000/,
    ],
  ])('%s', (_when, given, reason) => {
    expect(findExcess(aSurvey(given))).toMatch(reason)
  })

  test.each<[string, Given]>([
    ['for a fifth', { events: { there: 10_000, old: 2_000 } }],
    ['for a handful', { events: { there: 1_000, old: 1_000 } }],
    ['for what is usual', { events: { there: 100_000, old: 30_000 }, usual: 15_000 }],
    ['for the week of five', { events: { there: 100_000, old: 25_000, expected: 0.2 } }],
    ['for half of what is kept for a day', { events: { there: 9_000, old: 4_500, expected: 0.5 } }],
    ['after a pause, for what is little', { events: { there: 100, old: 20 }, pauseDays: 60 }],
    ['for nothing', { pauseDays: 400 }],
  ])('not %s', (_what, given) => {
    expect(findExcess(aSurvey(given))).toBeUndefined()
  })
})

describe('what is usual', () => {
  test('is what was removed last, and fades by the day', () => {
    const survey = aSurvey({ usual: 1_000, pauseDays: 1 })

    expect(nextUsual(survey, { events: 5_000, keys: 0 })).toEqual({
      atMs: NOW_MS,
      usualEvents: 5_000,
      usualKeys: 900,
    })
  })

  test('does not fade with runs that follow each other closely', () => {
    const survey = aSurvey({ usual: 1_000, pauseDays: 0 })

    expect(nextUsual(survey, { events: 0, keys: 0 }).usualEvents).toBe(1_000)
  })
})
