import { describe, expect, test } from 'vitest'
import { CRASH_POINTS } from '../../src/testing/index.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listTableRows, readPage, listBlocks } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const page = readPage('docs/guides/testing.md')

describe('the page about testing', () => {
  test('shows what a mistake looks like as it is printed', async () => {
    const blocks = listBlocks(page)
    const [mistake] = assembleSnippets(blocks).filter(({ marks }) => marks.includes('fails'))
    const printed = blocks.find(({ language }) => language === 'text')?.code ?? ''

    const { code, stderr } = await runSnippet({ code: mistake?.code ?? '' })

    expect(code).toBe(1)
    expect(printed).not.toBe('')
    for (const line of printed.split('\n')) expect(stderr).toContain(line.trim())
  })

  test('has every point at which a process can die', () => {
    const rows = listTableRows(page, ['point', 'what is true then'])

    expect(rows).toEqual(Object.entries(CRASH_POINTS))
  })
})
