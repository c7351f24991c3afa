/** Which part of what is kept goes in one run, where it goes by the day or by the week. Nothing that is kept for ever. */
export function expectedShare(nowMs: number, limitMs: number, periodMs: number): number {
  return limitMs === 0 ? 0 : periodMs / Math.max(periodMs, nowMs - limitMs)
}

export const DAY_MS = 86_400_000
