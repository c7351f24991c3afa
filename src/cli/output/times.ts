/**
 * Times as people read them: how long ago in a list, and the exact moment beside it where there is room.
 *
 * @module
 */

const SECONDS = [1_000, 's', 'second'] as const
const UNITS: readonly (readonly [ms: number, short: string, long: string])[] = [
  [86_400_000, 'd', 'day'],
  [3_600_000, 'h', 'hour'],
  [60_000, 'm', 'minute'],
  SECONDS,
]

/** `3m`, `2d`; `in 5m` for what is to come. */
export function formatAge(time: Date | undefined, now: Date = new Date()): string {
  if (time === undefined) return ''
  const ms = now.getTime() - time.getTime()
  const [count, [, short]] = inUnits(Math.abs(ms))
  return ms < -1_000 ? `in ${count}${short}` : `${count}${short}`
}

/** `2026-11-16 03:00:00Z (2 hours ago)`. */
export function formatTime(time: Date | undefined, now: Date = new Date()): string {
  if (time === undefined) return ''
  const ms = now.getTime() - time.getTime()
  const [count, [, , long]] = inUnits(Math.abs(ms))
  const span = `${count} ${long}${count === 1 ? '' : 's'}`
  return `${formatMoment(time)} (${ms < -1_000 ? `in ${span}` : `${span} ago`})`
}

/** In UTC, as everything that is stored. */
export function formatMoment(time: Date): string {
  return time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')
}

/** `1.2 s`, `34 ms`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const [count, [, , long]] = inUnits(ms)
  return `${count} ${long}${count === 1 ? '' : 's'}`
}

function inUnits(ms: number): readonly [number, (typeof UNITS)[number]] {
  const unit = UNITS.find(([size]) => ms >= size) ?? SECONDS
  return [Math.floor(ms / unit[0]), unit]
}
