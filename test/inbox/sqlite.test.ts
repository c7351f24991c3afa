import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { outboxContract } from './outbox.ts'
import { receiveContract } from './receive.ts'
import { stepRulesContract } from './step-rules.ts'
import { stepsContract } from './steps.ts'
import { workContract } from './work.ts'

receiveContract(sqliteUnderTest('libsql'))
workContract(sqliteUnderTest('libsql'))
outboxContract(sqliteUnderTest('libsql'))
stepsContract(sqliteUnderTest('libsql'))
stepRulesContract(sqliteUnderTest('libsql'))
