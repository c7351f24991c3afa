/**
 * The functions in the database, which are code of this release and not part of what is kept.
 *
 * They are not migrations: where those in the database are not these, all of them are made again
 * (`apply-functions.ts`), so that a change is made where the function stands and nowhere else.
 *
 * Why there are functions: a group costs four statements of ours beside its handlers' own, a step and a batch of
 * deliveries one or two, and each was parsed and planned anew. The plans of a function are kept for as long as the
 * session lives, also behind a transaction pooler, and a call is one round trip (`sql/record-new.ts` has a
 * measurement).
 *
 * A plan that is kept is made for the queue as it was, which may have been a handful of rows. So the functions that
 * claim are told to use indexes whatever the planner thinks. Measured with 50,000 events queued: 22.8 ms a claim with
 * a plan made for five of them, 0.5 ms this way (`test/store/postgres/claim.test.ts` counts the scans).
 *
 * Before PostgreSQL 18 a scan that is forbidden and cannot be avoided is planned as if it cost 10,000,000,000,
 * and what is so dear is compiled to machine code before each run. So they are told not to. Measured on
 * PostgreSQL 15: a second a claim, 3 ms this way (`test/store/postgres/compiled-plans.test.ts`).
 *
 * Only PostgreSQL: SQLite has no functions in the database.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { CREATE_ANNOUNCE } from './sql/announce.ts'
import { CREATE_CLAIM_BEHIND } from './sql/claim-behind.ts'
import { CREATE_CLAIMS, CREATE_OPEN_FENCE } from './sql/claim-group.ts'
import { CREATE_CLAIM_MESSAGES } from './sql/claim-messages.ts'
import { CREATE_CLAIM_ONCE } from './sql/claim-once.ts'
import { CREATE_ENQUEUE_MESSAGES } from './sql/enqueue-messages.ts'
import { CREATE_FENCE_COMMIT } from './sql/fence-commit.ts'
import { CREATE_LEASE_DUE } from './sql/lease-events.ts'
import {
  CREATE_LOCK_UNSORTED,
  CREATE_UNSORTED_EVENTS,
  CREATE_UNSORTED_TOPICS,
} from './sql/list-unsorted.ts'
import { CREATE_LOOK } from './sql/look.ts'
import { CREATE_FREE_MESSAGE_LANES, CREATE_LOCK_MESSAGE_LANES } from './sql/message-lanes.ts'
import { CREATE_IS_PRUNE_EXCESSIVE, CREATE_PRUNE } from './sql/prune.ts'
import { CREATE_PRUNE_AUDIT } from './sql/prune-audit.ts'
import { CREATE_PRUNE_BESIDE } from './sql/prune-beside.ts'
import { CREATE_PRUNE_BULKS } from './sql/prune-bulks.ts'
import { CREATE_PRUNE_DEAD } from './sql/prune-dead.ts'
import { CREATE_PRUNE_KEYS } from './sql/prune-keys.ts'
import { CREATE_PRUNE_LANES } from './sql/prune-lanes.ts'
import { CREATE_PRUNE_MESSAGES } from './sql/prune-messages.ts'
import {
  CREATE_LOWEST_ID_AT,
  CREATE_PRUNE_BEGIN,
  CREATE_PRUNE_PAYLOADS,
} from './sql/prune-payloads.ts'
import { CREATE_PRUNE_SURVEY } from './sql/survey-prune.ts'
import {
  CREATE_FREE_LANES,
  CREATE_LEAVE_LANES,
  CREATE_LOCK_LANES,
  CREATE_MEND_LANES,
} from './sql/mend-lanes.ts'
import { CREATE_PASS_DEADLINES } from './sql/pass-deadlines.ts'
import { CREATE_RECORD_NEW } from './sql/record-new.ts'
import { CREATE_REQUIRE_SETTINGS } from './sql/require-settings.ts'
import { CREATE_SESSION_STATE } from './sql/session-state.ts'
import { CREATE_SETTLE_LEASED } from './sql/settle-leased.ts'
import { CREATE_SETTLE_MESSAGES } from './sql/settle-messages.ts'
import { CREATE_SETTLE_RESTING } from './sql/settle.ts'
import { CREATE_SORT_EVENTS } from './sql/sort-events.ts'
import { CREATE_FINISH_STEPS, CREATE_OPEN_STEPS } from './sql/step-functions.ts'
import { CREATE_WRITE_CALLS } from './sql/write-calls.ts'

/**
 * Goes up with every release that changes a function. Of two sets of functions the one with the higher revision is
 * the later, and the earlier one never takes its place.
 */
const FUNCTIONS_REVISION = 1

/** Each makes one function, with `create or replace`. */
export const FUNCTIONS: readonly string[] = [
  CREATE_REQUIRE_SETTINGS,
  CREATE_RECORD_NEW,
  ...CREATE_CLAIMS,
  CREATE_CLAIM_BEHIND,
  CREATE_LOOK,
  CREATE_FENCE_COMMIT,
  CREATE_OPEN_FENCE,
  CREATE_ANNOUNCE,
  CREATE_LOCK_LANES,
  CREATE_MEND_LANES,
  CREATE_LEAVE_LANES,
  CREATE_FREE_LANES,
  CREATE_UNSORTED_TOPICS,
  CREATE_UNSORTED_EVENTS,
  CREATE_LOCK_UNSORTED,
  CREATE_SORT_EVENTS,
  CREATE_PASS_DEADLINES,
  CREATE_SETTLE_RESTING,
  CREATE_SESSION_STATE,
  CREATE_LEASE_DUE,
  CREATE_WRITE_CALLS,
  CREATE_OPEN_STEPS,
  CREATE_FINISH_STEPS,
  CREATE_SETTLE_LEASED,
  CREATE_CLAIM_ONCE,
  CREATE_LOCK_MESSAGE_LANES,
  CREATE_FREE_MESSAGE_LANES,
  CREATE_ENQUEUE_MESSAGES,
  CREATE_CLAIM_MESSAGES,
  CREATE_SETTLE_MESSAGES,
  CREATE_LOWEST_ID_AT,
  CREATE_PRUNE_BEGIN,
  CREATE_PRUNE_SURVEY,
  CREATE_PRUNE_DEAD,
  CREATE_PRUNE_PAYLOADS,
  ...CREATE_PRUNE_BESIDE,
  CREATE_PRUNE_MESSAGES,
  CREATE_PRUNE_AUDIT,
  CREATE_PRUNE_BULKS,
  CREATE_PRUNE_KEYS,
  CREATE_PRUNE_LANES,
  CREATE_IS_PRUNE_EXCESSIVE,
  CREATE_PRUNE,
]

/** A set of functions: which it is, and what it is like. */
export interface FunctionSet {
  readonly revision: number
  readonly checksum: string
}

/** The one this code was written for. */
export function ownFunctions(): FunctionSet {
  const checksum = createHash('sha256').update(FUNCTIONS.join('\n')).digest('hex')
  return { revision: FUNCTIONS_REVISION, checksum }
}

/** What a function is called by: its name, and the types of its arguments. */
export interface FunctionSignature {
  readonly name: string
  readonly types: string
}

const HEAD = /create or replace function \{schema\}\.(\w+)\(([^)]*)\)/

/** From the text that makes it. */
export function signatureOf(sql: string): FunctionSignature {
  const [, name, list] = HEAD.exec(sql) ?? []
  if (name === undefined || list === undefined) throw new Error(`This makes no function: ${sql}`)
  const types = list
    .split(',')
    .map((argument) => argument.trim().replace(/^\w+ /, ''))
    .join(', ')
  return { name, types }
}
