import type { ActionRefused, Operator } from '../../index.ts'
import { notFound, problemOfRefusal } from './problem.ts'
import type { Problem } from './problem.ts'
import type { Given, Route } from './route.ts'

/** What became of it: what the operator returned, or why there is nothing to answer. */
export type CalledRoute =
  | { readonly status: 'answered'; readonly result: unknown }
  | { readonly status: 'problem'; readonly problem: Problem }

/** Calls the operator with what was said, and checked. What cannot be foreseen rejects. */
export async function callRoute(
  operator: Operator,
  route: Pick<Route, 'call'>,
  given: Given,
): Promise<CalledRoute> {
  const result = await route.call(operator, given as Given<never, never>)
  if (result === undefined) return { status: 'problem', problem: notFound() }
  if (isRefused(result)) return { status: 'problem', problem: problemOfRefusal(result) }
  return { status: 'answered', result }
}

function isRefused(result: unknown): result is ActionRefused {
  return typeof result === 'object' && (result as Partial<ActionRefused>).status === 'refused'
}
