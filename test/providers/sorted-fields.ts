/** What some senders sign of a form: names and values in order, with nothing between. */
export function sortedFields(body: string): string {
  const pairs = [...new URLSearchParams(body)].map(([name, value]) => JSON.stringify([name, value]))
  return [...new Set(pairs)]
    .map((pair) => JSON.parse(pair) as [string, string])
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .flat()
    .join('')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
