import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { bulkActionsContract } from './bulk-actions.ts'
import { bulkMessagesContract } from './bulk-messages.ts'
import { collectingStatsContract } from './collecting-stats.ts'
import { findingEventsContract } from './finding-events.ts'
import { groupingErrorsContract } from './grouping-errors.ts'
import { manyAtRestContract } from './many-at-rest.ts'
import { showingEventsContract } from './showing-events.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared === null) return
  const postgres = postgresUnderTest('PostgreSQL', () => shared)
  findingEventsContract(postgres)
  showingEventsContract(postgres)
  groupingErrorsContract(postgres)
  collectingStatsContract(postgres)
  bulkActionsContract(postgres)
  bulkMessagesContract(postgres)
  manyAtRestContract(postgres)
})
