/**
 * Which request of the file is sent as the n-th.
 *
 * Without duplicates it is the n-th. In a storm one of a hundred is new, and the other 99 are scattered over all
 * that were new before, as by chance: most of them are committed by then, and some are on their way. `cycle.lua`
 * does the same for wrk.
 *
 * @module
 */

/** Of this many requests one is new. 1 for no duplicates. */
export const STORM = 100

export function requestAt(index: number, newEvery: number): number {
  const newest = Math.floor(index / newEvery)
  if (index % newEvery === 0) return newest
  return ((index % SCATTER_MODULUS) * SCATTER) % (newest + 1)
}

// Small enough that the product is exact in a double, which is all that Lua has.
const SCATTER = 7_919
const SCATTER_MODULUS = 2 ** 31

/** How many different requests are among those from `first` on. */
export function listRequests(
  { first, count }: { first: number; count: number },
  newEvery: number,
): ReadonlySet<number> {
  const found = new Set<number>()
  for (let index = first; index < first + count; index += 1) found.add(requestAt(index, newEvery))
  return found
}
