import { Deaths } from './deaths.ts'
import { SubjectGoneError } from './subject.ts'
import type { Subject, SubjectPool } from './subject.ts'
import type { SubjectConfig } from './subject-messages.ts'
import { RUNS_ALL } from '../slow-tests.ts'

export interface Victims {
  readonly pool: SubjectPool
  readonly config: SubjectConfig
  /** Statements that no process is killed at. */
  readonly except?: RegExp
  /**
   * Where it is decided whether something happened: without `npm run test:all` processes die at these only. Left out,
   * they die everywhere.
   */
  readonly decisive?: readonly RegExp[]
  /** What the n-th process will find to do, from 1. It is there before the process begins. */
  readonly prepare: (n: number) => Promise<void>
  /** Resolves when the n-th process has done it. */
  readonly untilThrough: (victim: Subject, n: number) => Promise<unknown>
  /** After each death. */
  readonly afterDeath?: () => Promise<void>
}

/**
 * What a worker does when it starts and by the clock, whether there are events or not. What is not named here,
 * because it is new, is only killed at more often.
 */
export const APART_FROM_EVENTS = new RegExp(
  [
    // When it starts.
    'server_version|pg_class|sqlite_schema|migrations|name = .functions|pg_control_system|clock_timestamp\\(\\)\\) \\*|: listen|: pragma',
    // Its heart, and its clock.
    'slot, beat_at|pid, beat_at\\)|with hearts|exists \\(select 1 from \\S*workers|as epoch',
    // The crashes of others, and leases that no worker has.
    'with (?:held|orphans|stale|idle) as|pg_advisory_xact_lock|worker_id, slot, hostname, pid, running',
    'crashes = crashes \\+ 1|delete from \\S*workers|insert into \\S*_attempts.*\\(\\d\\)$',
    'found from \\S*queue where lease_worker|q.lease_worker, w.hostname',
    // Events that wait for a handler, what others are told, and the partitions.
    'parked = .unhandled|distinct e.source|pg_notify|deliveries|to_regclass',
    // Lanes whose time to wait is over, or whose dead event is dead no longer.
    'wait_until is not null|lane_blocks b',
    // What was left by those before it, the history of the database, and what is paused.
    'with (?:leased|queued|waiting) as|.history|enable_hashjoin|(?:as|null as) source, reason, actor',
    'regexp_matches|has_function_privilege|lane_news|as is_standby',
    // When the next one is due.
    'with (?:suspect|running) as',
  ].join('|'),
)

/**
 * Starts a process after the other. Each is killed at the first statement boundary it comes to at which none
 * before it was, from its very first statement on; the first one that lives to do what it found ends it.
 *
 * The boundaries are not listed anywhere, and not counted: how often a process looks for work, and which of its
 * connections is ahead of which, is up to the machine.
 */
export async function killAtEveryBoundary({
  pool,
  config,
  except,
  decisive,
  prepare,
  untilThrough,
  afterDeath,
}: Victims): Promise<{ readonly started: number; readonly deaths: Deaths }> {
  const deaths = new Deaths(RUNS_ALL || decisive === undefined ? except : butFor(decisive))
  for (let n = 1; ; n += 1) {
    await prepare(n)
    const victim = pool.take()
    await victim.arm(deaths.trap)
    await victim.begin(config)
    const hasLived = await lives(untilThrough(victim, n))
    await victim.kill()
    if (hasLived) return { started: n, deaths }
    await afterDeath?.()
  }
}

function butFor(statements: readonly RegExp[]): RegExp {
  return new RegExp(`^(?!.*(?:${statements.map(({ source }) => source).join('|')}))`)
}

async function lives(through: Promise<unknown>): Promise<boolean> {
  try {
    await through
    return true
  } catch (error) {
    if (error instanceof SubjectGoneError) return false
    throw error
  }
}
