import type { Pool } from 'pg'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { expectedBalances } from '../subjects/drain-config.ts'
import type { Shape } from '../subjects/drain-config.ts'

export interface Effects {
  readonly lost: number
  readonly doubled: number
}

interface Expected {
  readonly shape: Shape
  readonly events: number
}

const COUNT_ROWS = 'select count(*) as written, count(distinct event_key) as events from effect'
const READ_BALANCES = 'select amount from balance order by id'

/** Counts what was lost and what was doubled, from the tables themselves and nothing that was reported. */
export async function verifyEffects(pool: Pool, expected: Expected): Promise<Effects> {
  const { rows } = await pool.query<Row>(expected.shape === 'balance' ? READ_BALANCES : COUNT_ROWS)
  return judge(rows, expected)
}

export async function verifySqliteEffects(file: string, expected: Expected): Promise<Effects> {
  const handle = (await openDriver('auto')).open(file)
  try {
    return judge(
      handle.prepare(expected.shape === 'balance' ? READ_BALANCES : COUNT_ROWS).all([]) as Row[],
      expected,
    )
  } finally {
    handle.close()
  }
}

type Row = Readonly<Record<string, string | number>>

function judge(rows: readonly Row[], { shape, events }: Expected): Effects {
  if (shape !== 'balance') {
    const distinct = Number(rows[0]?.['events'])
    const wanted = shape === 'two rows' ? 2 * events : events
    return { lost: wanted - distinct, doubled: Number(rows[0]?.['written']) - distinct }
  }
  let lost = 0
  let doubled = 0
  expectedBalances(events).forEach((amount, id) => {
    const difference = Number(rows[id]?.['amount'] ?? 0) - amount
    if (difference < 0) lost -= difference
    else doubled += difference
  })
  return { lost, doubled }
}
