import { describe, expect, test } from 'vitest'
import { CRASH_POINTS } from '../../src/testing/index.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listTableRows, readPage, listBlocks } from './markdown.ts'
import { runSnippet, runVitestSnippet } from './run-snippet.ts'
import { startDatabase } from './start-database.ts'

const page = readPage('docs/guides/testing.md')
const blocks = listBlocks(page)
const snippets = assembleSnippets(blocks)
const mistakes = snippets.filter(({ marks }) => marks.includes('fails'))
const texts = blocks.filter(({ language }) => language === 'text')

/** Each mistake with the text that the page shows after it. */
const shown = mistakes.map((mistake, at) => {
  const next = mistakes[at + 1]?.line ?? Infinity
  const printed = texts.filter(({ line }) => line > mistake.line && line < next)
  return { line: mistake.line, mistake, printed }
})

describe('the page about testing', () => {
  test('shows a mistake of each kind: duplicates, crashes, order, outside calls', () => {
    expect(shown.map(({ printed }) => printed.length)).toEqual([1, 1, 1, 1])
    expect(texts).toHaveLength(4)
  })

  test.each(shown)(
    'shows what a mistake looks like as it is printed: line $line',
    async ({ mistake, printed }) => {
      const { code, stderr } = await runSnippet(mistake)

      expect(code).toBe(1)
      expect(messageOf(stderr, printed[0]?.code ?? '')).toBe(printed[0]?.code)
    },
  )

  test('has a test in vitest that runs there', async () => {
    const [inVitest] = snippets.filter(({ marks }) => marks.includes('vitest'))

    expect(await runVitestSnippet(inVitest ?? { code: '' })).toMatchObject({ code: 0 })
  })

  test('has a test on PostgreSQL that runs, and leaves no database', async () => {
    const { url, query } = await startDatabase()
    const [onPostgres] = snippets.filter(({ marks }) => marks.includes('postgres'))

    const { code, stderr } = await runSnippet(onPostgres ?? { code: '' }, {
      TEST_DATABASE_URL: url,
    })

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const left = await query("select datname from pg_database where datname like 'shop\\_test\\_%'")
    expect(left).toEqual([])
  })

  test('has every point at which a process can die', () => {
    const rows = listTableRows(page, ['point', 'what is true then'])

    expect(rows).toEqual(Object.entries(CRASH_POINTS))
  })
})

/** What Node printed as the message of the error; no further than the page shows, where that ends with an ellipsis. */
function messageOf(stderr: string, printed: string): string {
  const start = /^(?:Assertion)?Error(?: \[\w+\])?: /m.exec(stderr)
  const rest = stderr.slice((start?.index ?? 0) + (start?.[0].length ?? 0))
  const message = rest.slice(0, rest.search(/^ {4}at /m)).trimEnd()
  if (!printed.endsWith('\n…')) return message
  return [...message.split('\n').slice(0, printed.split('\n').length - 1), '…'].join('\n')
}
