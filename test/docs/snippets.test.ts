import { describe, expect, test } from 'vitest'
import { assembleSnippets, compileService, compileSnippets, findPath } from './compile-blocks.ts'
import { listBlocks, listPages } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const pages = listPages()
/**
 * Those marked `orms` need libraries that test/orms installs, and are compiled there. Those marked `excerpt` are
 * declarations that npm run generate:api has copied from the source.
 */
const snippets = pages
  .flatMap((page) => assembleSnippets(listBlocks(page)))
  .filter(({ marks }) => !marks.includes('orms') && !marks.includes('excerpt'))
const runnable = snippets.filter(({ marks }) => marks.includes('run'))

const files = pages.flatMap((page) => listBlocks(page))
/** What the files of a service in Next.js import. */
const inboxOfNext = files.find(({ code }) => findPath(code) === 'lib/inbox.ts')!
/** The blocks marked `tsx`, by their page. */
const services = pages
  .map((page) => listBlocks(page).filter(({ language }) => language === 'tsx'))
  .flatMap((blocks) => (blocks[0] === undefined ? [] : [[blocks[0].page, blocks] as const]))

/** It is the processor's time that this takes, and others want it too. */
const COMPILING = { timeout: 900_000 }

describe('the code in the documentation', () => {
  test('compiles against the source, every block of it', COMPILING, () => {
    expect(compileSnippets(snippets)).toEqual([])
  })

  test.each(services)('compiles in Next.js as well: %s', COMPILING, (_page, blocks) => {
    expect(blocks.map(({ code }) => findPath(code))).not.toContain(undefined)
    // A page that has that file itself means its own.
    expect(compileService([inboxOfNext, ...blocks])).toEqual([])
    const routes = blocks.filter(({ code }) => findPath(code) !== 'lib/inbox.ts')
    const [first] = routes.map((block) => ({
      ...block,
      code: block.code.replace('getInbox()', 'getInbix()'),
    }))
    expect(compileService([first!, inboxOfNext])).toEqual([
      expect.stringMatching(/^docs\/guides\/.*:\d+ Cannot find name 'getInbix'/),
    ])
  })

  test('is there in the README', () => {
    expect(snippets.filter(({ page }) => page === 'README.md')).not.toEqual([])
  })

  test.each(runnable.map((snippet) => [`${snippet.page}:${snippet.line}`, snippet] as const))(
    'runs to its end: %s',
    async (_where, snippet) => {
      expect(await runSnippet(snippet)).toMatchObject({ code: 0 })
    },
  )
})

describe('the snippet check', () => {
  const page = (text: string) => assembleSnippets(listBlocks({ name: 'docs/made-up.md', text }))

  test('names the page and the line of a wrong block', COMPILING, () => {
    const wrong = page('# Title\n\n```ts\nconst one: number = 1\nconst two: string = one\n```\n')

    expect(compileSnippets(wrong)).toEqual([
      "docs/made-up.md:5 Type 'number' is not assignable to type 'string'.",
    ])
  })

  test('refuses an export that the package does not have', COMPILING, () => {
    const wrong = page("```ts\nimport { noSuchThing } from 'hookonce'\nnoSuchThing()\n```\n")

    expect(compileSnippets(wrong)).toHaveLength(1)
  })

  test('reads a block marked continue after the one before it, and any other alone', () => {
    const text =
      '```ts\nconst one = 1\n```\nand\n```ts continue\none.toFixed()\n```\n```ts\nalone\n```\n'

    const [first, second, ...others] = page(text)

    expect(first?.code).toBe('\nconst one = 1\n\n\n\none.toFixed()')
    expect(second?.code.trim()).toBe('alone')
    expect(others).toEqual([])
  })

  test('sees a run that fails', async () => {
    const [failing] = page("```ts run\nthrow new Error('on purpose')\n```\n")

    const result = await runSnippet(failing!)

    expect(result.code).not.toBe(0)
    expect(result.stderr).toContain('on purpose')
  })
})
