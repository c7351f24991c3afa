/**
 * What a process has counted, as one message, and the sum of several.
 *
 * @module
 */

import { defineMetrics } from './definitions.ts'
import { Gauge } from './registry.ts'
import type { CountedSeries } from './registry.ts'

type Metrics = ReturnType<typeof defineMetrics>

/** The series of each metric. A process of another version may have more of them, or fewer. */
export type Counted = {
  readonly [Name in keyof Metrics]?: Metrics[Name]['series']
}

/** As it is now; what is counted later may change it. */
export function takeCounted(metrics: Metrics): Counted {
  return Object.fromEntries(Object.entries(metrics).map(([name, { series }]) => [name, series]))
}

/** Counters and durations of all of them are summed; of what stands in each, its metric says which counts. */
export function sumCounted(all: readonly Counted[]): Counted {
  return takeCounted(mergeCounted(all))
}

/** What stays of a process that is gone: what it has counted, and not how it stood. */
export function keepCounted(counted: Counted): Counted {
  const metrics = mergeCounted([counted])
  for (const metric of Object.values(metrics)) if (metric instanceof Gauge) metric.clear()
  return takeCounted(metrics)
}

/** As Prometheus wants to read it. */
export function renderCounted(counted: Counted): string {
  return Object.values(mergeCounted([counted]))
    .map((metric) => metric.render())
    .join('')
}

function mergeCounted(all: readonly Counted[]): Metrics {
  const merged = defineMetrics()
  for (const counted of all)
    for (const [name, metric] of Object.entries(merged)) {
      // Its name says of which kind its series are, which is more than the compiler follows.
      const merge = metric.merge.bind(metric) as (series: CountedSeries<unknown>) => void
      merge(counted[name as keyof Metrics] ?? [])
    }
  return merged
}
