import type { FigureName, Goal, MeasuredRatio, Measurement } from './measurement.ts'

/**
 * How a goal was met: the median over the rounds, each compared within itself, with the smallest and the largest.
 * `undefined` when a contestant did not run, or the figure could not be taken.
 */
export function measureRatio(
  goal: Goal,
  measurements: ReadonlyMap<string, readonly Measurement[]>,
): MeasuredRatio | undefined {
  const of = measurements.get(goal.of)
  const against = goal.against === undefined ? undefined : measurements.get(goal.against)
  if (of === undefined || (goal.against !== undefined && against === undefined)) return undefined
  const values = of.flatMap((measured, round) => {
    const value = valueOf(measured, goal.figure)
    const other = against === undefined ? 1 : valueOf(against[round], goal.figure)
    return value === undefined || other === undefined || other === 0 ? [] : [value / other]
  })
  if (values.length === 0) return undefined
  const median = medianOf(values)
  const { atLeast = -Infinity, atMost = Infinity } = goal
  return {
    ...goal,
    median,
    min: Math.min(...values),
    max: Math.max(...values),
    isReached: median >= atLeast && median <= atMost,
  }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function valueOf(
  measured: Measurement | undefined,
  figure: FigureName | undefined,
): number | undefined {
  return figure === undefined ? measured?.rate : measured?.figures?.[figure]
}
