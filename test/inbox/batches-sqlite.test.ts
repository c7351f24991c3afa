import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { batchesContract } from './batches.ts'

batchesContract(sqliteUnderTest('libsql'))
