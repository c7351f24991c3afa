/**
 * How long ago something was that this process has timed with `performance.now()`. What is stored is the database's
 * time, less this: the clocks of two machines need not agree.
 */
export function agoMs(ownMs: number | undefined): number | undefined {
  return ownMs === undefined ? undefined : Math.max(0, Math.round(performance.now() - ownMs))
}
