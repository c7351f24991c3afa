import { expect, test } from 'vitest'
import { formatFigure } from '../../bench/harness/format-figure.ts'
import { judgeMemory } from '../../bench/harness/judge-memory.ts'
import { measureRatio } from '../../bench/harness/measure-ratio.ts'
import type { Figures, Measurement } from '../../bench/harness/measurement.ts'

const measured = (rate: number, figures?: Figures): Measurement => ({
  rate,
  lost: 0,
  doubled: 0,
  notes: {},
  ...(figures !== undefined && { figures }),
})

test('a ratio is taken inside each round, and its median counts', () => {
  const rounds = new Map([
    ['ours', [measured(100), measured(10), measured(30)]],
    ['theirs', [measured(50), measured(10), measured(10)]],
  ])
  const ratio = measureRatio({ of: 'ours', against: 'theirs', atLeast: 2 }, rounds)
  expect(ratio).toMatchObject({ median: 2, min: 1, max: 3, isReached: true })
})

test('a figure is at its goal when it is small enough', () => {
  const rounds = new Map([
    ['ours', [measured(1, { 'commits/event': 0.05 })]],
    ['theirs', [measured(1, { 'commits/event': 1 })]],
  ])
  const goal = { of: 'ours', against: 'theirs', figure: 'commits/event' } as const
  expect(measureRatio({ ...goal, atMost: 0.1 }, rounds)).toMatchObject({ isReached: true })
  expect(measureRatio({ ...goal, atMost: 0.04 }, rounds)).toMatchObject({ isReached: false })
})

test('without another to compare with, the figure itself is measured', () => {
  const rounds = new Map([['ours', [measured(1, { 'done p50 ms': 12 })]]])
  const ratio = measureRatio({ of: 'ours', figure: 'done p50 ms', atMost: 15 }, rounds)
  expect(ratio).toMatchObject({ median: 12, isReached: true })
})

test('a goal whose figure could not be taken, or whose contestant did not run, is left out', () => {
  const rounds = new Map([['ours', [measured(1)]]])
  expect(measureRatio({ of: 'ours', figure: 'memory MB', atMost: 1 }, rounds)).toBeUndefined()
  expect(measureRatio({ of: 'ours', against: 'theirs', atLeast: 1 }, rounds)).toBeUndefined()
})

test('memory that grows is told from memory that is taken once at the start', () => {
  const mb = 2 ** 20
  const steady = [50, 90, 99, 101, 100, 99, 100, 101, 98, 102].map((each) => each * mb)
  expect(judgeMemory(steady)).toEqual({ 'memory MB': 102, 'memory late/early': 1 })
  const growing = Array.from({ length: 10 }, (_, at) => (at + 1) * mb)
  expect(judgeMemory(growing)['memory late/early']).toBeCloseTo(9.5 / 3.5)
  expect(judgeMemory([])).toEqual({})
})

test('a figure keeps three digits that say something', () => {
  const texts = [0, 0.00521, 0.1894, 1.25, 48.312, 1830.4].map(formatFigure)
  expect(texts).toEqual(['0', '0.00521', '0.189', '1.25', '48.3', '1,830'])
})
