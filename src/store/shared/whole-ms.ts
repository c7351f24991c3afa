/** A duration as the tables keep it: whole milliseconds, at most 24 days. */
export function wholeMs(durationMs: number): number {
  return Math.min(Math.max(Math.round(durationMs), 0), 2_147_483_647)
}
