/** The one value of an answer, by its place: some drivers give a row as a list, and a plugin may change its name. */
export function firstValueOf(rows: readonly unknown[]): unknown {
  return Object.values(rows[0] as object)[0]
}
