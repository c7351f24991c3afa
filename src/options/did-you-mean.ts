/** The end of a sentence about a name that does not exist: `, did you mean "worker"?`, or a full stop. */
export function didYouMean(name: unknown, known: Iterable<string>): string {
  if (typeof name !== 'string') return '.'
  let nearest: string | undefined
  // A third of the letters may be wrong. With more, two words have nothing to do with each other.
  let nearestBy = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const each of known) {
    const isBegun = name.length > 2 && each.toLowerCase().startsWith(name.toLowerCase())
    const by = isBegun ? 1 : editDistance(name.toLowerCase(), each.toLowerCase())
    if (by < nearestBy) [nearest, nearestBy] = [each, by]
  }
  return nearest === undefined ? '.' : `, did you mean "${nearest}"?`
}

/** How many letters have to be changed, added, left out, or swapped with their neighbour. */
function editDistance(one: string, other: string): number {
  // Words this different in length are never near, and a text passed by mistake may be very long.
  if (Math.abs(one.length - other.length) > 10) return Infinity
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current[column] = Math.min(
        (above[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (above[column - 1] as number) + (isSame ? 0 : 1),
        isSwapped ? (before[column - 2] ?? Infinity) + 1 : Infinity,
      )
    }
    ;[before, above] = [above, current]
  }
  return above[other.length] as number
}
