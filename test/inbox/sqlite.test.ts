import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { everyContract } from './every-contract.ts'

everyContract(sqliteUnderTest('libsql'))
