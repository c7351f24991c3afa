import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { listAnchors, listLinks, listPages, readPage, ROOT } from './markdown.ts'
import type { Page } from './markdown.ts'

/** Pages that other pages, the code and the people on call count on. */
const REQUIRED_PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs/guarantees.md',
  'docs/lifecycle.md',
  'docs/glossary.md',
  'docs/choosing.md',
  'docs/guides/handlers.md',
  'docs/guides/raw-bodies.md',
  'docs/reference/errors.md',
]

describe('the documentation', () => {
  test.each(REQUIRED_PAGES)('has the page %s', (name) => {
    expect(fs.existsSync(path.join(ROOT, name))).toBe(true)
  })

  test.each(listPages().map((page) => [page.name, page] as const))(
    'has no broken link in %s',
    (_name, page) => {
      expect(listBrokenLinks(page)).toEqual([])
    },
  )

  test('leads a reader from ARCHITECTURE.md into the source', () => {
    const targets = listLinks(readPage('ARCHITECTURE.md')).map(({ target }) => target)

    expect(targets.filter((target) => /^(\.\/)?src\//.test(target)).length).toBeGreaterThan(5)
  })
})

describe('the link check', () => {
  const made = (text: string): Page => ({
    name: 'docs/made-up.md',
    text: `# A title, really!\n\n${text}\n`,
  })

  test.each([
    ['a file that is not there', '[x](no-such-page.md)'],
    ['a folder climbed wrongly', '[x](package.json)'],
    ['an anchor that is not on the page', '[x](#no-such-heading)'],
    ['an anchor that is not on the other page', '[x](../CONTRIBUTING.md#no-such-heading)'],
    ['a line number, which the next edit moves', '[x](../src/errors.ts#L10)'],
    ['a link by reference', '[x]\n\n[x]: no-such-page.md'],
    ['a picture', '![x](no-such-picture.png)'],
  ])('finds %s', (_name, text) => {
    expect(listBrokenLinks(made(text))).toHaveLength(1)
  })

  test('leaves alone what is fine', () => {
    const fine =
      '[a](#a-title-really) [b](../package.json) [c](../src/errors.ts) [d](https://example.com)'
    const code = '`[x](nowhere.md)`\n\n```md\n[x](nowhere.md)\n```'

    expect(listBrokenLinks(made(`${fine}\n\n${code}`))).toEqual([])
  })
})

function listBrokenLinks(page: Page): readonly string[] {
  return listLinks(page)
    .filter(({ target }) => !/^[a-z][a-z+.-]*:/i.test(target))
    .filter(({ target }) => !resolves(page, target))
    .map(({ target, line }) => `${page.name}:${line} ${target}`)
}

function resolves(page: Page, target: string): boolean {
  const [file = '', anchor] = target.split('#')
  const name =
    file === '' ? page.name : path.posix.join(path.posix.dirname(page.name), decodeURI(file))
  if (file !== '' && !fs.existsSync(path.join(ROOT, name))) return false
  if (anchor === undefined) return true
  if (!name.endsWith('.md')) return false
  return listAnchors(file === '' ? page : readPage(name)).has(anchor)
}
