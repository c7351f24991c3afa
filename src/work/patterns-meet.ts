/** Whether there can be a type that both patterns match. `*` stands for any text; everything else for itself. */
export function patternsMeet(one: string, other: string): boolean {
  // What is left of both patterns can meet when: row by row, from the ends to the beginnings.
  let below = Array.from({ length: other.length + 1 }, (_, at) => isOnlyStars(other.slice(at)))
  for (let i = one.length - 1; i >= 0; i -= 1) {
    const row: boolean[] = []
    row[other.length] = isOnlyStars(one.slice(i))
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const skipsOne = below[j] as boolean
      const skipsOther = row[j + 1] as boolean
      const isStar = one[i] === '*' || other[j] === '*'
      row[j] = isStar ? skipsOne || skipsOther : one[i] === other[j] && (below[j + 1] as boolean)
    }
    below = row
  }
  return below[0] as boolean
}

function isOnlyStars(text: string): boolean {
  return text.replaceAll('*', '') === ''
}
