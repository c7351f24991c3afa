import type { WorkloadResult } from '../harness/measurement.ts'
import type { Part } from './parts.ts'

export type Measured = Pick<WorkloadResult, 'contestants' | 'ratios' | 'checks'>

/** The result of one part, under a name of its own: a run of some parts leaves those of the others. */
export function describeAblation(
  { name, without }: Pick<Part, 'name' | 'without'>,
  measured: Measured,
): WorkloadResult {
  return { workload: `ablation-${name}`, title: `${name}; without it, ${without}`, ...measured }
}
