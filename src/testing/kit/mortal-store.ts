/**
 * A store as one process has it, which can die.
 *
 * When it dies, what is open in the database is rolled back, as the database does with a connection that is gone, and
 * nothing that the dead process still does reaches the database. The claims, leases and messages that it had are left as
 * they are, for another process to find. The dead one is answered that they are no longer its own, or not at all: so its
 * timers and loops come to their end, which those of a process that is killed need not.
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type { RunningEvent, WorkerSlot } from '../../store/contract/workers.ts'
import type { CrashPoint } from './crash-points.ts'

/** What the store tells the process that has it. */
export interface MortalHooks {
  /** The process has come to a point. Rejects when it dies there. */
  readonly reach: (point: CrashPoint) => Promise<void>
  readonly isDead: () => boolean
}

export interface MortalStore<Sql, Tx> {
  readonly store: Store<Sql, Tx>
  /** The workers of this process. */
  readonly workerIds: ReadonlySet<string>
  /** Rolls back what is open. Call it when the process has died. */
  dropConnections(): Promise<void>
}

/** Something that holds a transaction. */
interface Open {
  abandon?(): Promise<void>
  close?(): Promise<void>
  /** What is claimed with it. */
  readonly events?: readonly RunningEvent[]
}

type Call = (...args: unknown[]) => unknown
/** Runs in place of a function of the store; `call` is the function itself. */
type Around = (call: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>

export function makeMortal<Sql, Tx>(
  real: Store<Sql, Tx>,
  { reach, isDead }: MortalHooks,
): MortalStore<Sql, Tx> {
  const workerIds = new Set<string>()
  const open = new Map<Open, WorkerSlot | undefined>()

  const wrap = <Part extends object>(
    part: Part,
    around: Readonly<Record<string, Around>>,
    lost: Lost = {},
  ): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        const run = around[String(name)]
        return (...args: unknown[]) => {
          const call = () => (member as Call).apply(target, args)
          if (SYNCHRONOUS.has(String(name))) return call()
          const work = async () => (run === undefined ? call() : run(async () => call(), args))
          return mortally(work, () => answerDead({ ...LOST, ...lost }, String(name), args))
        }
      },
    })

  /** What a dead process asks for is not done, and what it is told it does not hear. */
  const mortally = async (
    work: () => Promise<unknown>,
    answer: () => unknown,
  ): Promise<unknown> => {
    if (isDead()) return answer()
    try {
      const result = await work()
      return isDead() ? answer() : result
    } catch (error) {
      if (isDead()) return answer()
      throw error
    }
  }

  /** What is being opened now. */
  const opening = new Set<Promise<unknown>>()

  /** For a call that opens something: the process is not dead as long as one is under way. */
  const opened = async (open: () => Promise<unknown>): Promise<unknown> => {
    const running = open()
    opening.add(running)
    try {
      return await running
    } finally {
      opening.delete(running)
    }
  }

  const hold = async (
    held: object,
    points: Readonly<Record<string, Around>>,
    slot?: WorkerSlot,
  ): Promise<unknown> => {
    // It waited for the lock of what the process had when it died. Its events were never those of a living one.
    if (isDead()) return drop([[held, undefined]])
    open.set(held, slot)
    const ending: Around = async (call) => {
      open.delete(held)
      return call()
    }
    return wrap(held, { abandon: ending, close: ending, lease: ending, ...points })
  }

  /**
   * All of them before anything is written: one that has SQLite's writer would keep the others waiting for it, and is
   * itself waiting for a handler that has stopped.
   */
  const drop = async (
    held: readonly (readonly [Open, WorkerSlot | undefined])[],
  ): Promise<void> => {
    await Promise.all(held.map(async ([one]) => (one.abandon ?? one.close)?.call(one)))
    for (const [{ events = [] }, slot] of held) {
      // On SQLite one that lives takes its events off its record when it abandons them. The dead leave theirs.
      if (slot !== undefined) await real.workers.announce(slot, events)
    }
  }

  const commit = (held: object): Around => {
    return async (call) => {
      await reach('before-commit')
      open.delete(held)
      const result = await call()
      await reach('after-commit')
      return result
    }
  }

  const holding: Around = (call, [request]) =>
    opened(async () => {
      const held = (await call()) as object | undefined
      if (held === undefined) return undefined
      const { slot } = request as { readonly slot?: WorkerSlot }
      return hold(held, { commit: commit(held) }, slot)
    })

  const parts: Partial<Record<keyof Store<Sql, Tx>, object>> = {
    events: wrap(real.events, {
      record: async (call) => {
        await reach('before-store')
        const recorded = await call()
        await reach('after-store')
        return recorded
      },
    }),
    queue: wrap(real.queue, { claim: holding }, { claim: NOTHING }),
    steps: wrap(
      real.steps,
      {
        open: holding,
        settle: async (call) => {
          await reach('before-settle')
          return call()
        },
      },
      { settle: (settlements) => (settlements as readonly unknown[]).map(() => false) },
    ),
    messages: wrap(real.messages, {}, { claim: NONE, settle: () => new Set() }),
    readings: wrap(real.readings, {
      open: (call) => opened(async () => hold((await call()) as object, {})),
    }),
    workers: wrap(real.workers, {
      beat: async (call, [beat]) => {
        workerIds.add((beat as { readonly workerId: string }).workerId)
        return call()
      },
    }),
  }
  for (const name of PARTS) parts[name] ??= wrap(real[name], {})

  return {
    store: new Proxy(real, {
      get: (target, name) => {
        const part = parts[name as keyof typeof parts]
        if (part !== undefined) return part
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? (member as Call).bind(target) : member
      },
    }),
    workerIds,
    dropConnections: async () => {
      const held = [...open]
      open.clear()
      await drop(held)
      // What they now get they give back. Later, another process would find their events in the hands of the dead.
      while (opening.size > 0) await Promise.allSettled([...opening])
    },
  }
}

const PARTS = [
  'lanes',
  'operators',
  'pauses',
  'search',
  'stats',
  'bulks',
  'retention',
  'tokens',
] as const

/** What answers at once. All else of a store is waited for. */
const SYNCHRONOUS: ReadonlySet<string> = new Set([
  'requireCapacity',
  'isHeld',
  'lend',
  'status',
  'hasWrites',
])

/** @throws StoreUnavailableError where there is nothing to say */
function answerDead(lost: Lost, name: string, [given]: readonly unknown[]): unknown {
  const answer = Object.hasOwn(lost, name) ? lost[name] : undefined
  if (answer !== undefined) return answer(given)
  throw new StoreUnavailableError('This process has died in a test')
}

/** By the name of a function: what it answers a caller that has lost what it had. */
type Lost = Readonly<Record<string, (given: unknown) => unknown>>

const NOTHING = (): undefined => undefined
const NONE = (): readonly [] => []
const NO_COUNT = () => 0

/** By the names of functions. Those that two parts of a store have say which. */
const LOST: Lost = {
  abandon: NOTHING,
  announce: NOTHING,
  beat: NOTHING,
  cancel: NOTHING,
  close: NOTHING,
  countDeliveries: NOTHING,
  countSecretUses: NOTHING,
  giveBackForgotten: NO_COUNT,
  lease: NONE,
  list: NONE,
  listHandled: NONE,
  listHearts: NONE,
  listLate: NONE,
  listUnhandled: NONE,
  listUnsorted: NONE,
  look: () => ({ due: [], nextDueInMs: undefined, next: undefined }),
  mendBlocked: NO_COUNT,
  nextDueInMs: NOTHING,
  notify: NOTHING,
  nudge: NOTHING,
  open: NOTHING,
  parkUnhandled: NONE,
  passDeadlines: NONE,
  readUnsorted: NONE,
  remove: NOTHING,
  settleLost: () => false,
  sweep: NONE,
  takeNews: NONE,
  wakeUnhandled: NO_COUNT,
  writeCalls: (entries) => (entries as readonly unknown[]).map(NOTHING),
}
