/**
 * Whether something has been open in the database for so long that its tables cannot be cleaned up.
 *
 * @module
 */

import type { OpenTransaction } from '../../index.ts'
import { formatSpan } from '../output/times.ts'
import type { Finding } from './finding.ts'

/** As the alert in `deploy/prometheus/alerts.yml`. */
const OLD_MS = 600_000
/** For what has no time: a slot, a standby, a session that our role may not look into. */
const BEHIND_MAX = 1_000_000

/** `undefined`: the database cannot tell. */
export function checkTransactions(
  at: Date,
  open: readonly OpenTransaction[] | undefined,
): readonly Finding[] {
  if (open === undefined) return []
  const found = open.flatMap((one): readonly Finding[] => {
    const openMs = one.since === undefined ? undefined : at.getTime() - one.since.getTime()
    const isOld = openMs !== undefined && openMs > OLD_MS
    if (!isOld && (one.behind ?? 0) <= BEHIND_MAX) return []
    const forLong = openMs === undefined ? '' : `, open for ${formatSpan(openMs)}`
    const holding = one.behind === undefined ? '' : `, holds back ${one.behind} transactions`
    return [
      {
        level: 'warning',
        check: 'transactions',
        message: `${describe(one)}${forLong}${holding}`,
        advice: ADVICE[one.kind],
      },
    ]
  })
  if (found.length > 0) return found
  return [{ level: 'ok', check: 'transactions', message: 'none is open for long' }]
}

function describe({ kind, name, role, application }: OpenTransaction): string {
  const by = [role, application].filter((part) => part !== undefined).join(', ')
  return `${KINDS[kind]} ${name}${by === '' ? '' : ` (${by})`}`
}

const KINDS: Readonly<Record<OpenTransaction['kind'], string>> = {
  session: 'session',
  prepared: 'prepared transaction',
  standby: 'standby at session',
  slot: 'replication slot',
}

const WHERE = 'docs/runbook.md, "A transaction that stays open".'
const ADVICE: Readonly<Record<OpenTransaction['kind'], string>> = {
  session: `Find out what it does, or end it with pg_terminate_backend: ${WHERE}`,
  prepared: `Commit it, or roll it back: ${WHERE}`,
  standby: `A query on the standby takes long: ${WHERE}`,
  slot: `Its reader is away or slow: ${WHERE}`,
}
