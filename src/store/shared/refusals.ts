/**
 * Functions that stand, in what a handler gets of a library, for what only the owner of a connection may call. By them
 * such an object is told from the library's own root object, which has the same names.
 *
 * @module
 */

const refusals = new WeakSet<object>()

export function rememberRefusal<Refusal extends object>(refusal: Refusal): Refusal {
  refusals.add(refusal)
  return refusal
}

export function isRefusal(given: object): boolean {
  return refusals.has(given)
}
