import type { BenchContext } from '../harness/context.ts'
import type { WorkloadResult } from '../harness/measurement.ts'

export interface Workload {
  readonly id: string
  readonly title: string
  run(context: BenchContext): Promise<Omit<WorkloadResult, 'workload' | 'title'>>
}
