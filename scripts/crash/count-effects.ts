import type { CrashRun, SentEvent } from './crash-run.ts'

/** What became of what was sent, in numbers. From `lost` on each is 0, or something is broken. */
export interface Counts {
  readonly acknowledged: number
  /** Acknowledged, and took effect exactly once. */
  readonly appliedOnce: number
  /** Stored, and no answer of 200 arrived. */
  readonly unheard: number
  /** Acknowledged and not stored, or done without its effects. */
  readonly lost: number
  /** Effects that happened more than once. */
  readonly doubled: number
  readonly storedTwice: number
  /** Ended otherwise than done, where every event can be done. */
  readonly notDone: number
  readonly withoutOutcome: number
  /** The first of each kind that is broken, in words. */
  readonly examples: readonly string[]
}

/** Reads everything once and compares it with what was sent. */
export async function countEffects({ database, sent, acknowledged }: CrashRun): Promise<Counts> {
  const stored = await listStored(database)
  const effects = await listEffects(database)
  const examples: string[] = []
  const count = (what: string, keys: readonly string[], why?: (key: string) => string): number => {
    const [first] = keys
    if (first !== undefined) examples.push(`${first} ${what}${why === undefined ? '' : why(first)}`)
    return keys.length
  }
  const has = (key: string, state: string | undefined): boolean =>
    stored.get(key)?.some((one) => one.state === state) ?? false
  const listWhere = (fits: (event: SentEvent) => boolean): readonly string[] =>
    [...sent.values()].filter(fits).map(({ key }) => key)
  const timesOf = (event: SentEvent): readonly number[] =>
    event.effects.map((key) => effects.get(key) ?? 0)
  const isKnown = ({ key }: SentEvent): boolean => acknowledged.has(key)
  const isLost = (event: SentEvent): boolean =>
    stored.has(event.key) ? has(event.key, 'done') && timesOf(event).includes(0) : isKnown(event)

  return {
    acknowledged: acknowledged.size,
    appliedOnce: listWhere((event) => isKnown(event) && timesOf(event).every((n) => n === 1))
      .length,
    unheard: listWhere((event) => stored.has(event.key) && !isKnown(event)).length,
    lost: count('was acknowledged or done, and has not taken effect', listWhere(isLost)),
    doubled: count(
      'has happened more than once',
      [...effects].filter(([, times]) => times > 1).map(([key]) => key),
    ),
    storedTwice: count(
      'is stored more than once',
      [...stored].filter(([, events]) => events.length > 1).map(([key]) => key),
    ),
    notDone: count(
      'is not done, where every event can be: ',
      listWhere(({ key }) => stored.has(key) && !has(key, 'done') && !has(key, undefined)),
      (key) => stored.get(key)?.[0]?.reason ?? 'no reason',
    ),
    withoutOutcome: count(
      'has no outcome',
      listWhere(({ key }) => has(key, undefined)),
    ),
    examples,
  }
}

type Database = CrashRun['database']

interface Stored {
  /** Of its outcome; `undefined` while it has none. */
  readonly state: string | undefined
  readonly reason: string | undefined
}

/** What is stored under each key. */
async function listStored(database: Database): Promise<ReadonlyMap<string, readonly Stored[]>> {
  const isPostgres = database.engine === 'postgres'
  const prefix = isPostgres ? 'hookonce.' : 'hookonce_'
  const key = isPostgres ? `convert_from(e.event_key, 'UTF8')` : 'cast(e.event_key as text)'
  const rows = await database.query(
    `select ${key} as key, o.state, o.reason
       from ${prefix}events e left join ${prefix}outcomes o on o.event_id = e.id`,
  )
  const stored = new Map<string, Stored[]>()
  for (const { key: found, state, reason } of rows) {
    const one = {
      state: typeof state === 'string' ? state : undefined,
      reason: typeof reason === 'string' ? reason : undefined,
    }
    stored.set(String(found), [...(stored.get(String(found)) ?? []), one])
  }
  return stored
}

async function listEffects(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query(
    'select event_key, count(*) as found from effects group by event_key',
  )
  return new Map(rows.map((row) => [String(row['event_key']), Number(row['found'])]))
}
