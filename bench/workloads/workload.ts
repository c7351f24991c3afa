import type { BenchContext } from '../harness/context.ts'
import type { WorkloadResult } from '../harness/measurement.ts'

export interface Workload {
  readonly id: string
  readonly title: string
  /** How often it is measured, whatever `--rounds` says: what takes minutes is. */
  readonly rounds?: number
  run(context: BenchContext): Promise<Omit<WorkloadResult, 'workload' | 'title'>>
}
