/**
 * Where a process can die, as a test of a handler sees it.
 *
 * @module
 */

/** Each point, and what is true when the process dies there. The first half of a failure message comes from here. */
export const CRASH_POINTS = Object.freeze({
  'before-store': 'a delivery was verified, and nothing of it was stored',
  'after-store': 'an event was stored, and its sender not answered',
  'before-handler': 'an event was claimed, and its handler not begun',
  'after-handler': 'the handler had returned, and nothing was committed',
  'before-commit': 'all was written, and COMMIT not sent',
  'after-commit': 'COMMIT had succeeded, and the process did not hear of it',
  'before-call': 'a step.call was kept as started, and not made',
  'after-call': 'a step.call was made, and its result not kept',
  'after-step': 'the result of a step.call was kept, and the handler did not go on',
  'before-settle': 'all steps were taken, and the event was not marked as done',
  'before-send': 'a message was claimed, and not sent',
  'after-send': 'a message was sent, and not marked as sent',
} as const)

/**
 * A point in the life of an event at which a process can die.
 *
 * - `before-store`, `after-store`: around the storing of a delivery. The sender has no answer, and delivers again.
 * - `before-handler`, `after-handler`: around a handler.
 * - `before-commit`, `after-commit`: around the COMMIT of a handler, or of a `step.tx`. After the latter is between two
 *   steps.
 * - `before-call`, `after-call`, `after-step`: around a `step.call`, and before the result is kept and after.
 * - `before-settle`: a step handler has ended.
 * - `before-send`, `after-send`: around the sending of a message.
 */
export type CrashPoint = keyof typeof CRASH_POINTS

/** All points, in the order in which an event comes to them. */
export const ALL_CRASH_POINTS = Object.freeze(Object.keys(CRASH_POINTS) as CrashPoint[])
