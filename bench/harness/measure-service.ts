/**
 * Measures servers that are sent requests at a pace, and of ours the one that also runs what it takes in: how soon
 * it answers, how soon events are done, and how much memory it holds.
 *
 * @module
 */

import type { Pool } from 'pg'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { generatePacedLoad } from '../load/generate.ts'
import type { LoadReport } from '../load/generate.ts'
import { CREATE_EFFECT, createEffectTables } from '../subjects/drain-config.ts'
import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'
import type { RunConfig } from '../subjects/receive-config.ts'
import { Subject } from './child.ts'
import type { Runtime, Usage } from './child.ts'
import type { BenchContext, BenchOptions } from './context.ts'
import { costsPerEvent } from './costs-per-event.ts'
import type { DatabaseSpent } from './costs-per-event.ts'
import type { Contestant, Measurement, Setting } from './measurement.ts'
import { noteTrouble } from './measure-receive.ts'
import { judgeMemory } from './judge-memory.ts'
import type { PostgresMeter, PostgresReading } from './postgres-meter.ts'
import { verifyEffects, verifySqliteEffects } from './verify-effects.ts'
import type { Effects } from './verify-effects.ts'

export type ServiceScript =
  | 'run-hookonce'
  | 'run-pg-boss'
  | 'run-restate'
  | 'receive-null'
  | 'receive-insert'
  | 'receive-textbook'

export interface ServiceEntry {
  readonly name: string
  readonly script: ServiceScript
  readonly settings: readonly Setting[]
  readonly isSqlite?: boolean
  readonly runtime?: Runtime
  readonly timedFrom?: number
  /** What is in its database before it starts. */
  readonly prepare?: (config: RunConfig) => Promise<void>
  readonly measure: (service: Service) => Promise<Measurement>
}

/** A server that runs, and how to find out what became of the requests. */
export interface Service {
  readonly subject: Subject
  readonly port: number
  /** Its database, unless that is a file. */
  readonly postgres: ConnectionConfig | undefined
  /** What the database takes, unless that is a file. */
  readonly meter: PostgresMeter | undefined
  /** Lost and doubled of so many answered requests. */
  verify(answered: number): Promise<Effects>
}

export function serviceContestant(context: BenchContext, entry: ServiceEntry): Contestant {
  const { name, script, settings, isSqlite = false, runtime = 'ours', timedFrom, prepare } = entry
  return {
    name,
    runtime,
    isOurs: script === 'run-hookonce',
    settings,
    measure: async (setting) => {
      if (!isSqlite)
        return context.withDatabase(async (postgres, pool) => {
          // The server of the textbook makes its own.
          if (script.startsWith('run-')) await createEffectTables(pool)
          await prepare?.({ postgres, poolMax: 5 })
          const subject = new Subject(script, { timedFrom, ...setting, postgres }, runtime)
          const verify = (events: number) => verifyPostgres(script, pool, events)
          return serve(entry, { subject, postgres, meter: context.meter, verify })
        })
      const sqlite = context.createFile('service.db')
      const handle = (await openDriver('auto')).open(sqlite)
      handle.execute(CREATE_EFFECT)
      handle.close()
      await prepare?.({ sqlite, poolMax: 0 })
      const subject = new Subject(script, { timedFrom, ...setting, sqlite }, runtime)
      const verify = (events: number) => verifySqliteEffects(sqlite, { shape: 'row', events })
      return serve(entry, { subject, postgres: undefined, meter: undefined, verify })
    },
  }
}

async function serve(
  { measure }: ServiceEntry,
  { subject, postgres, meter, verify }: Omit<Service, 'port'>,
): Promise<Measurement> {
  try {
    const { port } = await subject.next('listening')
    return await measure({
      subject,
      port,
      postgres,
      meter,
      verify: async (answered) => {
        await subject.stop()
        return verify(answered)
      },
    })
  } finally {
    await subject.stop()
  }
}

/** So many requests a second for a while, after a shorter while to warm up. */
export async function measureLatency(
  { subject, port, verify }: Service,
  { rate, warm, count }: { rate: number; warm: number; count: number },
): Promise<Measurement> {
  const first = await generatePacedLoad({ port, from: 0, count: warm, rate })
  const before = await subject.usage()
  const load = await generatePacedLoad({ port, from: warm, count, rate })
  const answered = answeredOf([first, load])
  const after = await untilDone(subject, answered)
  const { p50Ms, p99Ms } = after.counts
  return {
    rate: load.requests / (load.durationUs / 1e6),
    notes: noteTrouble([first, load]),
    ...(await verify(answered)),
    figures: {
      'answer p50 ms': load.p50Us / 1_000,
      'answer p99 ms': load.p99Us / 1_000,
      ...(p50Ms !== undefined && { 'done p50 ms': p50Ms }),
      ...(p99Ms !== undefined && { 'done p99 ms': p99Ms }),
      ...costsPerEvent({ events: load.requests, ownCpuUs: after.cpuUs - before.cpuUs }),
    },
  }
}

/** So many requests, as fast as they are answered; then nothing, to see what idling takes. */
export async function measureMemory(
  { subject, port, verify }: Service,
  { count, idleMs }: { count: number; idleMs: number },
): Promise<Measurement> {
  const samples: number[] = []
  const startedAt = performance.now()
  const before = await subject.usage()
  let isLoading = true
  const sampling = (async () => {
    while (isLoading) {
      samples.push((await subject.usage()).memoryBytes)
      await pause(SAMPLE_EVERY_MS)
    }
  })()
  const load = await generatePacedLoad({ port, from: 0, count, rate: undefined })
  isLoading = false
  await sampling
  const done = await untilDone(subject, answeredOf([load]), samples)
  const seconds = (performance.now() - startedAt) / 1_000
  // What was put off until there is time for it is done by then.
  await pause(idleMs)
  const idleFrom = await subject.usage()
  await pause(idleMs)
  const idleTo = await subject.usage()
  return {
    rate: load.requests / seconds,
    notes: noteTrouble([load]),
    ...(await verify(answeredOf([load]))),
    figures: {
      ...judgeMemory(samples),
      'idle ms/s': (idleTo.cpuUs - idleFrom.cpuUs) / idleMs,
      ...costsPerEvent({ events: load.requests, ownCpuUs: done.cpuUs - before.cpuUs }),
    },
  }
}

/** How long a service is loaded, and of how long its rate is compared, at the beginning and at the end. */
export function sustainedTask(
  { quick, seconds }: BenchOptions,
  usual: number,
): { readonly seconds: number; readonly windowSeconds: number } {
  const chosen = seconds ?? (quick ? 10 : usual)
  return { seconds: chosen, windowSeconds: chosen / 5 }
}

/**
 * As many requests as are answered for a while, and what becomes of them meanwhile. The rate is that of events that are
 * done; requests that are answered faster than events are done wait in line, and their number is noted.
 */
export async function measureSustained(
  { subject, port, meter, verify }: Service,
  { seconds, windowSeconds }: { seconds: number; windowSeconds: number },
): Promise<Measurement> {
  const startedAt = performance.now()
  const before = await subject.usage()
  const spentBefore = await meter?.read()
  const samples: { readonly atMs: number; readonly done: number; readonly prunes?: number }[] = []
  let isLoading = true
  const sampling = (async () => {
    while (isLoading) {
      const { counts } = await subject.usage()
      const { done = 0, prunes } = counts
      const atMs = performance.now() - startedAt
      samples.push({ atMs, done, ...(prunes !== undefined && { prunes }) })
      await pause(SAMPLE_EVERY_MS)
    }
  })()
  const load = await generatePacedLoad({ port, from: 0, count: Infinity, rate: undefined, seconds })
  isLoading = false
  await sampling
  const { atMs: loadedMs, done: doneMeanwhile, prunes } = samples.at(-1)!
  const answered = answeredOf([load])
  const done = await untilDone(subject, answered)
  const spent = await meter?.read()
  const rateBetween = (fromMs: number, toMs: number): number => {
    const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    const [first, last] = [inside[0], inside.at(-1)]
    return first === undefined || last === undefined
      ? 0
      : (last.done - first.done) / ((last.atMs - first.atMs) / 1_000)
  }
  const windowMs = windowSeconds * 1_000
  const early = rateBetween(WARM_MS, WARM_MS + windowMs)
  return {
    rate: doneMeanwhile / (loadedMs / 1_000),
    notes: {
      ...noteTrouble([load]),
      'waiting at the end': answered - doneMeanwhile,
      ...(prunes !== undefined && { 'prunes at the end': prunes }),
    },
    ...(await verify(answered)),
    figures: {
      'answers/s': load.requests / (load.durationUs / 1e6),
      'answer p99 ms': load.p99Us / 1_000,
      'rate late/early': rateBetween(loadedMs - windowMs, loadedMs) / early,
      ...costsPerEvent({
        events: answered,
        ownCpuUs: done.cpuUs - before.cpuUs,
        database: spentBetween(spentBefore, spent),
      }),
    },
  }
}

/** Without its commits: of minutes, the log that they are counted in is gone. */
function spentBetween(
  from: PostgresReading | undefined,
  to: PostgresReading | undefined,
): DatabaseSpent | undefined {
  if (from?.cpuUs === undefined || to?.cpuUs === undefined) return undefined
  return {
    cpuUs: to.cpuUs - from.cpuUs,
    logBytes: to.logBytes - from.logBytes,
    commits: undefined,
    flushes: undefined,
  }
}

/** Until code is compiled and statements are planned. */
const WARM_MS = 3_000
const SAMPLE_EVERY_MS = 250
const GIVE_UP_MS = 600_000

/** Gives up without an error: what is missing is counted as lost. */
async function untilDone(
  subject: Subject,
  answered: number,
  samples: number[] = [],
): Promise<Usage> {
  const giveUpAt = performance.now() + GIVE_UP_MS
  for (;;) {
    const usage = await subject.usage()
    const done = usage.counts['done']
    // A server that runs nothing has no count of it.
    if (done === undefined || done >= answered || performance.now() > giveUpAt) return usage
    samples.push(usage.memoryBytes)
    await pause(SAMPLE_EVERY_MS)
  }
}

function answeredOf(loads: readonly LoadReport[]): number {
  return loads.reduce((sum, { requests, refused }) => sum + requests - refused, 0)
}

async function verifyPostgres(script: ServiceScript, pool: Pool, events: number): Promise<Effects> {
  if (script === 'receive-null') return { lost: 0, doubled: 0 }
  if (script !== 'receive-insert') return verifyEffects(pool, { shape: 'row', events })
  const { rows } = await pool.query<{ n: number }>('select count(*)::integer as n from inbox')
  return { lost: Math.max(0, events - rows[0]!.n), doubled: Math.max(0, rows[0]!.n - events) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
