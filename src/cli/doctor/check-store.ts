/**
 * Whether the store can be used, lasts, and agrees with this machine about the time.
 *
 * @module
 */

import { asError, HookonceError } from '../../errors.ts'
import { inspectStore } from '../../gateway/inspect-store.ts'
import type { StoreSetting } from '../../gateway/inspect-store.ts'
import { openStore } from '../../gateway/open-store.ts'
import type { OpenTerms } from '../../gateway/open-store.ts'
import { createOperator } from '../../index.ts'
import type { StandaloneOperator } from '../../index.ts'
import { formatSpan } from '../output/times.ts'
import { checkTransactions } from './check-transactions.ts'
import type { Finding } from './finding.ts'

/** Beyond this a lease or a back-off is noticeably off; senders allow for five minutes. */
const SKEW_WARNED_MS = 2_000
const SKEW_REFUSED_MS = 60_000

export async function checkStore(
  url: string,
  folder: string,
  encryption: OpenTerms['encryption'],
): Promise<readonly Finding[]> {
  let opened: ReturnType<typeof openStore>
  try {
    opened = openStore(url, folder, { migrate: 'check', encryption })
  } catch (error) {
    return [describeFailure(error)]
  }
  const operator = createOperator({ store: opened.store })
  try {
    const reached = await reach(operator, opened.place)
    // Where there is no connection nothing else can be told of it.
    const settings = await inspectStore(url, folder).then(checkSettings, () => [])
    return [...reached, ...settings]
  } finally {
    await operator.close()
    await opened.close()
  }
}

async function reach(operator: StandaloneOperator, place: string): Promise<readonly Finding[]> {
  try {
    const startedMs = Date.now()
    // The first call opens it, so that the second one tells how far away its clock is.
    await operator.listPauses()
    const reachedMs = Date.now()
    const { at, workers, queue, states, pauses, openTransactions } = await operator.stats()
    const unfinished = await operator.findUnfinished()
    return [
      {
        level: 'ok',
        check: 'store',
        message: `${place} answers, after ${formatSpan(reachedMs - startedMs)}`,
      },
      { level: 'ok', check: 'schema', message: 'its tables are up to date' },
      checkClock(at.getTime(), reachedMs),
      ...checkTransactions(at, openTransactions),
      workers.length === 0
        ? {
            level: 'warning',
            check: 'workers',
            message: `none is running; ${queue.due.count === 1 ? '1 event is' : `${queue.due.count} events are`} due`,
            advice: 'Start one: hookonce start --role work.',
          }
        : { level: 'ok', check: 'workers', message: `${workers.length} running` },
      ...(states.dead.count === 0
        ? []
        : [
            warn(
              'events',
              `${states.dead.count} dead`,
              'See what they have in common: hookonce groups.',
            ),
          ]),
      ...pauses.map(({ kind, name }) =>
        warn(
          'pauses',
          `${kind} ${name} is paused`,
          `hookonce resume ${kind} ${name} lets it go on.`,
        ),
      ),
      ...unfinished.messages
        .filter(({ state }) => state === 'unknown')
        .map(({ destination, count }) =>
          warn(
            'messages',
            `${count} to ${destination} may have arrived`,
            'Look at the other side, then: hookonce messages list.',
          ),
        ),
      ...(unfinished.wentBack === undefined
        ? []
        : [
            warn(
              'history',
              `the database went back from ${unfinished.wentBack.until.toISOString()} to ${unfinished.wentBack.since.toISOString()}`,
              'Events of that time may be missing: docs/runbook.md, "After a failover or a restore".',
            ),
          ]),
    ]
  } catch (error) {
    return [describeFailure(error)]
  }
}

function warn(check: string, message: string, advice: string): Finding {
  return { level: 'warning', check, message, advice }
}

function describeFailure(error: unknown): Finding {
  const code = error instanceof HookonceError ? error.code : undefined
  const check = code?.startsWith('SCHEMA_') === true ? 'schema' : 'store'
  const { message, cause } = asError(error)
  const why =
    cause instanceof Error && !message.includes(cause.message) ? ` (${cause.message})` : ''
  const finding: Finding = { level: 'problem', check, message: `${message}${why}` }
  // A file that is not there is no server that cannot be reached.
  if (message.includes('hookonce migrate')) return finding
  return {
    ...finding,
    advice: ADVICE[code ?? ''] ?? 'Does the database run, and may this machine and user reach it?',
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  SCHEMA_MISSING: 'hookonce migrate makes the tables.',
  SCHEMA_OUTDATED: 'hookonce migrate brings the tables up to date.',
  SCHEMA_NEWER: 'Install the version of hookonce that the other processes have.',
  STORE_UNSAFE: 'Turn the setting on, and restart the database.',
  CONFIG_INVALID: 'Write sqlite:<file> or postgres://….',
}

/** Whether this machine and the database agree about the time. */
export function checkClock(storeMs: number, ownMs: number): Finding {
  const skewMs = storeMs - ownMs
  const span = formatSpan(Math.abs(skewMs))
  if (Math.abs(skewMs) < SKEW_WARNED_MS)
    return { level: 'ok', check: 'clock', message: `${span} from the database's` }
  return {
    level: Math.abs(skewMs) < SKEW_REFUSED_MS ? 'warning' : 'problem',
    check: 'clock',
    message: `this machine is ${span} ${skewMs > 0 ? 'behind' : 'ahead of'} the database`,
    advice: 'Set both by NTP: signatures are refused by the clock of this machine.',
  }
}

/** What each setting has to be, and what is lost otherwise. */
export function checkSettings(settings: readonly StoreSetting[]): readonly Finding[] {
  return settings.map(({ name, value }): Finding => {
    const message = `${name} is ${value}`
    if (value === 'off' && (name === 'fsync' || name === 'full_page_writes'))
      return {
        level: 'problem',
        check: 'durability',
        message,
        advice: `A crash of the machine loses what was answered with a success. Set ${name} = on.`,
      }
    if (value === 'off' && name === 'synchronous_commit')
      return warn(
        'durability',
        message,
        'Hookonce turns it on for its own transactions; what your code commits elsewhere may be lost.',
      )
    if (name === 'journal_mode' && value !== 'wal')
      return {
        level: 'problem',
        check: 'durability',
        message,
        advice: 'Put the file on a local disk, where a write-ahead log works.',
      }
    return { level: 'ok', check: 'durability', message }
  })
}
