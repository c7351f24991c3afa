import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { bulkActionsContract } from './bulk-actions.ts'
import { bulkMessagesContract } from './bulk-messages.ts'
import { collectingStatsContract } from './collecting-stats.ts'
import { findingEventsContract } from './finding-events.ts'
import { groupingErrorsContract } from './grouping-errors.ts'
import { manyAtRestContract } from './many-at-rest.ts'
import { showingEventsContract } from './showing-events.ts'

const libsql = sqliteUnderTest('libsql')

findingEventsContract(libsql)
showingEventsContract(libsql)
groupingErrorsContract(libsql)
collectingStatsContract(libsql)
bulkActionsContract(libsql)
bulkMessagesContract(libsql)
manyAtRestContract(libsql)
