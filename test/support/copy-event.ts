/**
 * Many events at once, as copies of one: its row, its place in the queue or its outcome, and its failures. Written by
 * the database, where recording and running a hundred thousand of them would take minutes.
 *
 * @module
 */

import type { DatabaseUnderTest } from './store-under-test.ts'

export interface CopyRequest {
  readonly engine: 'postgres' | 'sqlite'
  readonly eventId: string
  /** How many. */
  readonly count: number
  /** The number of the first one, which its id ends with. Two copies need two numbers. */
  readonly from?: number
  /** When the first one was stored, and how much later each of the others, in milliseconds. */
  readonly times?: { readonly startMs: number; readonly stepMs: number }
  /** Only these tables; all of them where left out. */
  readonly tables?: readonly string[]
  /** What their ids begin with. Ids sort by time, and those of copies are older than all others unless this says so. */
  readonly prefix?: string
}

export async function copyEvent(
  database: Pick<DatabaseUnderTest, 'query'>,
  request: CopyRequest,
): Promise<void> {
  const { engine, eventId, count, from = 1, prefix = '00000000-0000-7000-8000-' } = request
  const isPostgres = engine === 'postgres'
  for (const [table, columns] of Object.entries(COLUMNS)) {
    if (request.tables?.includes(table) === false) continue
    const id = table === 'events' ? 'id' : 'event_id'
    const names = columns.filter((name) => isPostgres || !ONLY_POSTGRES.has(name))
    const own: Readonly<Record<string, string>> = {
      event_key: keys(engine),
      key_hash: hashes(engine),
    }
    const values = names.map((name) => own[name] ?? name)
    const copyId = request.times === undefined ? numbered(prefix) : timed(engine, request.times)
    await database.query(
      `insert into ${isPostgres ? 'hookonce.' : 'hookonce_'}${table} (${id}, ${names.join(', ')})
         with recursive n (n) as (select ${from} union all select n + 1 from n where n < ${from + count - 1})
       select ${isPostgres ? `(${copyId})::uuid` : copyId}, ${values.join(', ')}
         from n, ${isPostgres ? 'hookonce.' : 'hookonce_'}${table}
        where ${id} = $1`,
      [eventId],
    )
  }
}

/** A key of its own for each: where all have one, PostgreSQL plans for that. */
function keys(engine: CopyRequest['engine']): string {
  return engine === 'postgres' ? `convert_to('copy ' || n, 'UTF8')` : `cast('copy ' || n as blob)`
}

/** And the hash of it, or what stands for one: a replay takes the key back, and two events cannot have one. */
function hashes(engine: CopyRequest['engine']): string {
  return engine === 'postgres'
    ? `decode(lpad(to_hex(n), 64, '0'), 'hex')`
    : `unhex(printf('%064x', n))`
}

function numbered(prefix: string): string {
  return `'${prefix}' || substr('000000000000' || n, length('000000000000' || n) - 11)`
}

function timed(
  engine: CopyRequest['engine'],
  { startMs, stepMs }: NonNullable<CopyRequest['times']>,
): string {
  const time = `(${startMs} + n * ${stepMs})`
  const high = `${time} / 65536`
  const low = `${time} % 65536`
  return engine === 'postgres'
    ? `lpad(to_hex(${high}), 8, '0') || '-' || lpad(to_hex(${low}), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0')`
    : `printf('%08x-%04x-7000-8000-%012x', ${high}, ${low}, n)`
}

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  events: [
    ...['source', 'event_key', 'type', 'topic', 'key_hash', 'body', 'headers', 'received_at'],
    ...['verified_by', 'is_text'],
  ],
  queue: [
    ...[
      'topic',
      'run_at',
      'run',
      'attempts',
      'crashes',
      'bytes',
      'leasable',
      'parked',
      'parked_reason',
    ],
  ],
  outcomes: ['run', 'state', 'attempts', 'duration_ms', 'reason', 'settled_at'],
  attempts: ['run', 'attempt', 'reason', 'message', 'handler', 'duration_ms', 'failed_at'],
}

const ONLY_POSTGRES: ReadonlySet<string> = new Set(['is_text', 'bytes'])
