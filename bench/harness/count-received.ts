import { listRequests } from '../load/storm-order.ts'

/** One run of a load generator: its requests in their order, from the first on. */
export interface AnsweredRequests {
  readonly first: number
  /** How many were answered. */
  readonly requests: number
  /** How many of those with a refusal. */
  readonly refused: number
}

/**
 * How many different events must be stored, and how many may be. What was on its way at the end of a run may be
 * stored and was not answered, and it is not known which of the last requests that was.
 */
export function countReceived(
  runs: readonly AnsweredRequests[],
  { newEvery, inFlightMax }: { newEvery: number; inFlightMax: number },
): { atLeast: number; atMost: number } {
  const refused = runs.reduce((sum, run) => sum + run.refused, 0)
  if (newEvery === 1) {
    const answered = runs.reduce((sum, run) => sum + run.requests, 0) - refused
    return { atLeast: answered, atMost: answered + inFlightMax * runs.length }
  }
  const certain = new Set<number>()
  const possible = new Set<number>()
  for (const { first, requests } of runs) {
    // As many as can be on their way have not been answered yet, and were overtaken by as many.
    const surely = Math.max(0, requests - inFlightMax)
    for (const one of listRequests({ first, count: surely }, newEvery)) certain.add(one)
    for (const one of listRequests({ first, count: requests + inFlightMax }, newEvery))
      possible.add(one)
  }
  return { atLeast: Math.max(0, certain.size - refused), atMost: possible.size }
}
