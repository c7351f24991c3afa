import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  findTransactionControl,
  listStatementKeywords,
  splitTokens,
} from '../../../src/store/shared/transaction-control.ts'

const REFUSED = new Set(['COMMIT', 'ROLLBACK'])

describe('transaction control', () => {
  const found: readonly [dialect: 'both' | 'postgres' | 'sqlite', sql: string][] = [
    ['both', 'commit'],
    ['both', '\ufeff \t\r\n COMMIT work'],
    ['both', ';;commit'],
    ['both', '-- x\ncommit'],
    ['both', '/* x */commit'],
    ['both', 'select 1;commit'],
    ['both', "select 'it''s'; commit"],
    ['both', 'select "a;""b"; commit'],
    ['both', "select ''; commit -- '"],
    ['both', "select 'a\\'; commit --'"],
    ['postgres', '/* a /* b */ c */ commit'],
    ['postgres', "select E'a\\''; commit"],
    ['postgres', "select e'a''\\''; commit --'"],
    ['postgres', 'select $$a;b$$; commit'],
    ['postgres', 'select $t$ $$ ; $u$ $t$; commit'],
    ['postgres', 'select a$b$c; commit -- $b$'],
    ['postgres', 'select 1$$ $$; commit -- $$'],
    ['postgres', 'select $1; commit; select $1'],
    ['postgres', '-- x\rcommit'],
    ['sqlite', '/* a /* b */ commit'],
    ['sqlite', '/*/ */ commit'],
    ['sqlite', 'select `a;``b`; commit'],
    ['sqlite', "select [a'b]; commit -- '"],
    ['sqlite', "select $a(';); commit -- '"],
    ['sqlite', "select $a(\u00a0';); commit -- '"],
    ['sqlite', "select E'a\\'; commit --'"],
    ['sqlite', 'select $$; commit; select $$'],
  ]

  test.each(found)('in %s is found in %j', (dialect, sql) => {
    for (const one of dialect === 'both' ? (['postgres', 'sqlite'] as const) : [dialect]) {
      expect(findTransactionControl(sql, REFUSED, one)).toBe('COMMIT')
    }
  })

  const absent: readonly [dialect: 'both' | 'postgres' | 'sqlite', sql: string][] = [
    ['both', ''],
    ['both', 'select commit from t'],
    ['both', 'commits'],
    ['both', '"commit"'],
    ['both', "select '; commit'"],
    ['both', 'select 1 -- ; commit'],
    ['both', 'select 1 /* ; commit */'],
    ['both', 'select "; commit"'],
    ['postgres', 'select 1 /* /* */ ; commit */'],
    ['postgres', "select E'\\'; commit'"],
    ['postgres', 'select $t$; commit $$ ; commit $t$'],
    ['sqlite', 'select `; commit`'],
    ['sqlite', 'select [; commit]'],
    ['sqlite', '-- x\rcommit'],
  ]

  test.each(absent)('in %s is not seen in %j', (dialect, sql) => {
    for (const one of dialect === 'both' ? (['postgres', 'sqlite'] as const) : [dialect]) {
      expect(findTransactionControl(sql, REFUSED, one)).toBeUndefined()
    }
  })

  test('statements are told apart, and empty ones do not count', () => {
    expect(
      listStatementKeywords(
        "; with a as (select ';') select 1;\n-- no more;\n; (values (1));",
        'sqlite',
      ),
    ).toEqual(['WITH', ''])
  })

  test('tokens make up the text they were cut from, whatever it is', () => {
    const piece = fc.constantFrom(
      "'",
      '"',
      '`',
      '$',
      '$$',
      '/*',
      '*/',
      '--',
      '\n',
      '\\',
      'e',
      ';',
      '[',
      ']',
      '(',
      ')',
      ' ',
      '1',
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, fc.string())),
        fc.constantFrom('postgres' as const, 'sqlite' as const),
        (pieces, dialect) => {
          const sql = pieces.join('')
          expect(splitTokens(sql, dialect).join('')).toBe(sql)
        },
      ),
    )
  })
})
