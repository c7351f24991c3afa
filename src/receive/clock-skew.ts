const SKEW_MS_MAX = 30_000

/** Whether the clocks of a process and of its database differ by more than what a slow answer could feign. */
export function isClockSkewed(skewMs: number): boolean {
  return Math.abs(skewMs) > SKEW_MS_MAX
}
