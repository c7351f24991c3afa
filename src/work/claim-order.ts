/**
 * In which order a slot looks for something to do.
 *
 * What is fresh comes first, since it is most of it. Every so often another kind does, so that a flood of one
 * cannot starve the others.
 *
 * @module
 */

import type { DueKind } from '../store/contract/queue.ts'

const FRESH_FIRST = ['fresh', 'head', 'leasable', 'again', 'suspect'] as const
const AGAIN_FIRST = ['again', 'suspect', 'leasable', 'head', 'fresh'] as const
const HEAD_FIRST = ['head', 'fresh', 'leasable', 'again', 'suspect'] as const
const LEASABLE_FIRST = ['leasable', 'head', 'fresh', 'again', 'suspect'] as const
const SUSPECT_FIRST = ['suspect', 'again', 'leasable', 'head', 'fresh'] as const
const BY_ROUND: readonly (readonly DueKind[])[] = [
  AGAIN_FIRST,
  FRESH_FIRST,
  LEASABLE_FIRST,
  HEAD_FIRST,
  SUSPECT_FIRST,
  FRESH_FIRST,
  LEASABLE_FIRST,
  HEAD_FIRST,
]

/** Every kind, once. */
export function listKinds(round: number): readonly DueKind[] {
  return BY_ROUND[round % BY_ROUND.length] ?? FRESH_FIRST
}
