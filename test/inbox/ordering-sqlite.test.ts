import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { orderingContract } from './ordering.ts'

orderingContract(sqliteUnderTest('libsql'))
