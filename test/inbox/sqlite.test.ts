import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { outboxContract } from './outbox.ts'
import { receiveContract } from './receive.ts'
import { stepsContract } from './steps.ts'
import { workContract } from './work.ts'
import { writesContract } from './writes.ts'

receiveContract(sqliteUnderTest('libsql'))
workContract(sqliteUnderTest('libsql'))
writesContract(sqliteUnderTest('libsql'))
outboxContract(sqliteUnderTest('libsql'))
stepsContract(sqliteUnderTest('libsql'))
