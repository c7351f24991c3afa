/**
 * The tables with their indexes and checks, version by version. A migration that has been released is never
 * changed: the next change is the next version. Functions are no part of it (`functions.ts`).
 *
 * @module
 */

import { BULK_TABLES } from './bulk-tables.ts'
import { INBOX_TABLES } from './inbox-tables.ts'
import { OPERATOR_TABLES } from './operator-tables.ts'
import { LANE_TABLES } from './lane-tables.ts'
import { OUTBOX_TABLES } from './outbox-tables.ts'
import { TOKEN_TABLES } from './token-tables.ts'

export interface Migration {
  readonly version: number
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    sql: `${INBOX_TABLES}\n${LANE_TABLES}\n${OUTBOX_TABLES}\n${OPERATOR_TABLES}\n${BULK_TABLES}\n${TOKEN_TABLES}`,
  },
]

/** The version this code was written for. */
export const SCHEMA_VERSION = MIGRATIONS.length
