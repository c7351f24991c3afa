import { alignTable } from '../harness/align-table.ts'
import { medianOf } from '../harness/measure-ratio.ts'
import type { FigureName, WorkloadResult } from '../harness/measurement.ts'
import { describeSpread } from '../harness/report.ts'

/** A row for each part and workload: both rates, and what was measured with the part against without it. */
export function printAblation(results: readonly WorkloadResult[]): void {
  const [contestants, ratios, checks] = [
    results.flatMap((each) => each.contestants),
    results.flatMap((each) => each.ratios),
    results.flatMap((each) => each.checks),
  ]
  const rate = (name: string): string => {
    const { measurements = [] } = contestants.find((each) => each.name === name) ?? {}
    return Math.round(medianOf(measurements.map((each) => each.rate))).toLocaleString('en')
  }
  const rows = ratios
    .filter(({ figure }) => figure === undefined)
    .map((ratio) => {
      const { of, against = '', isReached } = ratio
      const cost = (figure: FigureName): string => {
        const found = ratios.find((each) => each.of === of && each.figure === figure)
        return found === undefined ? '–' : found.median.toFixed(2)
      }
      return [
        of,
        rate(of),
        rate(against),
        describeSpread(ratio),
        cost('own µs/event'),
        cost('database µs/event'),
        isReached ? '' : 'wins less than a tenth',
      ]
    })
  const head = ['', 'with, /s', 'without, /s', 'with / without', 'own time', 'database time', '']
  if (rows.length > 0) console.log(`\n${alignTable([head, ...rows])}`)
  for (const { name, detail } of checks.filter(({ isOk }) => !isOk))
    console.log(`  FAILED ${name}: ${detail}`)
}
