import { describe, expect, test } from 'vitest'
import { listSettingChanges } from '../../../src/store/postgres/setting-change.ts'
import {
  listStatementKeywords,
  splitTokens,
} from '../../../src/store/shared/transaction-control.ts'
import { measureCpuMs } from '../../support/cpu-time.ts'

const SMALL = 32_768
const LARGE = 4 * SMALL
/** Below it the figures say more about the machine than about the scanner. */
const FLOOR_MS = 40

const TEXTS = [
  'set_config(',
  'set_config((a,true),',
  "select set_config('a', 'b', true), ",
  '(',
  ':a(',
  '$a(::',
  '$a$',
  '/*',
  "e'",
  '"',
  'set ;',
]

describe('scanning a text four times as long takes about four times as long', () => {
  test.each(TEXTS)('for %j again and again', async (unit) => {
    const [small = 0, large = 0] = await measureCpuMs(
      [SMALL, LARGE].map((length) => () => {
        const sql = unit.repeat(Math.ceil(length / unit.length))
        listSettingChanges(`${sql}set_config`)
        for (const dialect of ['postgres', 'sqlite'] as const) {
          listStatementKeywords(sql, dialect)
          splitTokens(sql, dialect)
        }
      }),
      { rounds: 3 },
    )

    expect(large, `${small} ms for a quarter of it`).toBeLessThan(Math.max(FLOOR_MS, 8 * small))
  })
})
