import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'

/** How this process runs events. Every duration is in milliseconds and says so. */
export interface WorkerOptions {
  /**
   * How many groups of events run at once, whatever their types are. `reserved` are beside them.
   *
   * Each group holds one database connection for its transaction, so the pool needs at least as many as both together
   * plus four: two for storing deliveries, one for the worker's own records, one to listen for wake-ups.
   *
   * @defaultValue 4
   */
  readonly concurrency?: number
  /**
   * How many more are kept free for events that would else wait: no type of event can have them while it has
   * others, and none that has lately failed, hung or been slow. So an event of a quiet source starts at once,
   * beside a flood, a type that only fails, or a handler that hangs. With another `concurrency` it is a quarter of
   * that, rounded down, but 1 beside two or three, and 0 beside one, unless it is said. 0 for no more than `concurrency`
   * at once.
   *
   * @defaultValue 1
   */
  readonly reserved?: number
  /**
   * How much of the worker's time a source has, against the other sources, while all of them have events waiting:
   * one of weight 3 has three times as much as one of weight 1. A handler's own `weight` divides the time of its
   * source.
   *
   * @defaultValue {}
   */
  readonly weights?: Readonly<Record<string, number>>
  /**
   * The most events that run in one transaction. A handler that is slow, or that meets locks, gets
   * smaller groups by itself; 1 turns grouping off.
   *
   * @defaultValue 200
   */
  readonly groupMax?: number
  /**
   * How long a group goes on starting handlers. What it has not started by then goes back to the queue.
   *
   * It bounds how long an event waits for its neighbours' commit, and on SQLite how long a new
   * delivery waits for the writer; not how long one handler may run (that is `timeoutMs`). Where the database is so far
   * away, or so busy, that a group's transaction takes longer than this without any handler, the group may take as long
   * again, up to ten times this.
   *
   * @defaultValue 100
   */
  readonly groupBudgetMs?: number
  /**
   * How often to look for work when nothing calls. Wake-ups make this rarely matter; poolers that eat
   * notifications and events stored by other processes make it matter.
   *
   * @defaultValue 1_000
   */
  readonly pollMs?: number
  /**
   * How many events of step handlers run at once, beside the groups. They hold a connection only while they
   * write, and then one of those that groups have. The last fifth is kept for types of events that
   * have none running, as `reserved` does for groups.
   *
   * @defaultValue 40
   */
  readonly stepsMax?: number
  /**
   * How long others watch a worker's heart stand still before they take it for dead and count a crash on
   * what it was running. Its transactions are rolled back by then in any case, unless the process is frozen.
   * Time in which the watching workers cannot reach the database does not count.
   *
   * It is also how long a lease is good for: a worker that stands still for longer, because its event loop is
   * blocked or its machine sleeps, loses the events of step handlers to others, and can write nothing more
   * for them. It bounds how long such an event waits after a crash, not how long its handler may run.
   *
   * @defaultValue 10_000
   */
  readonly deadAfterMs?: number
  /**
   * How many times an event may take its worker down with it before it is dead for a person to look at.
   *
   * @defaultValue 3
   */
  readonly crashesMax?: number
  /**
   * How long `stop()` waits for running handlers. What has not ended by then is rolled back and runs
   * again elsewhere, without a lost attempt.
   *
   * @defaultValue 10_000
   */
  readonly stopGraceMs?: number
  /**
   * How long the event loop may be blocked before a watchdog thread ends the process, because a handler
   * in an endless loop holds all the others. 0 turns it off.
   *
   * @defaultValue 60_000
   */
  readonly blockedMs?: number
}

/** Of a source or a handler: more would starve the others. */
export const WEIGHT_MAX = 100

export type ResolvedWorkerOptions = Readonly<Required<WorkerOptions>>

/** How many groups run at once, those in the slots that are kept free included. */
export function slotCount({ concurrency, reserved }: ResolvedWorkerOptions): number {
  return concurrency + reserved
}

export const WORKER_DEFAULTS: ResolvedWorkerOptions = Object.freeze({
  concurrency: 4,
  reserved: 1,
  weights: {},
  groupMax: 200,
  groupBudgetMs: 100,
  pollMs: 1_000,
  stepsMax: 40,
  deadAfterMs: 10_000,
  crashesMax: 3,
  stopGraceMs: 10_000,
  blockedMs: 60_000,
})

export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  rejectUnknownKeys('worker', options, Object.keys(WORKER_DEFAULTS))
  const given = { ...WORKER_DEFAULTS, ...options }
  const reserved = options.reserved ?? reservedBeside(given.concurrency)
  const resolved = Object.freeze({ ...given, reserved })
  requireInteger('worker.concurrency', resolved.concurrency, { min: 1, max: 1_000 })
  requireInteger('worker.reserved', reserved, { min: 0, max: resolved.concurrency })
  for (const [source, weight] of Object.entries(resolved.weights))
    requireInteger(`worker.weights.${source}`, weight, { min: 1, max: WEIGHT_MAX })
  requireInteger('worker.groupMax', resolved.groupMax, { min: 1, max: 1_000 })
  requireInteger('worker.groupBudgetMs', resolved.groupBudgetMs, { min: 1, max: HOUR_MS })
  requireInteger('worker.pollMs', resolved.pollMs, { min: 10, max: HOUR_MS })
  requireInteger('worker.stepsMax', resolved.stepsMax, { min: 1, max: 10_000 })
  requireInteger('worker.deadAfterMs', resolved.deadAfterMs, { min: 500, max: 24 * HOUR_MS })
  requireInteger('worker.crashesMax', resolved.crashesMax, { min: 1, max: 100 })
  requireInteger('worker.stopGraceMs', resolved.stopGraceMs, { min: 0, max: HOUR_MS })
  requireInteger('worker.blockedMs', resolved.blockedMs, { min: 0, max: 24 * HOUR_MS })
  return resolved
}

/** Who has a single slot wants one group at a time. Beside two or more, one that hangs must not have the last. */
function reservedBeside(concurrency: number): number {
  return concurrency === 1 ? 0 : Math.max(1, Math.floor(concurrency / 4))
}
