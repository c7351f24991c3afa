import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { orderPropertiesContract } from './order-properties.ts'

orderPropertiesContract(sqliteUnderTest('libsql'))
