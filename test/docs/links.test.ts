import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  listAnchors,
  listHeadings,
  listLinks,
  listPages,
  readPage,
  ROOT,
  stripBlocks,
} from './markdown.ts'
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
  'docs/gateway.md',
  'docs/deployment.md',
  'docs/sizing.md',
  'docs/upgrading.md',
  'docs/metrics.md',
  'docs/reference/configuration.md',
  'docs/reference/cli.md',
  'SECURITY.md',
  'docs/guides/handlers.md',
  'docs/guides/raw-bodies.md',
  'docs/reference/errors.md',
]

/** Two lines that begin alike for so many characters are two versions of one, which a merge kept. */
const BEGINNING = 50

describe('the documentation', () => {
  test.each(REQUIRED_PAGES)('has the page %s', (name) => {
    expect(fs.existsSync(path.join(ROOT, name))).toBe(true)
  })

  test('leads from README.md to each of them', () => {
    const targets = listLinks(readPage('README.md')).map(({ target }) => target.split('#')[0])

    expect(
      REQUIRED_PAGES.filter((name) => name !== 'README.md' && !targets.includes(name)),
    ).toEqual([])
  })

  test.each(listPages().map((page) => [page.name, page] as const))(
    'has no broken link in %s',
    (_name, page) => {
      expect(listBrokenLinks(page)).toEqual([])
    },
  )

  test('names tests in SECURITY.md that are there', () => {
    const named = [...readPage('SECURITY.md').text.matchAll(/`(test\/[^`]+)`/g)].map(
      ([, name = '']) => name,
    )
    const folders = named.map((name) => name.replace(/\/[^/]*\*[^/]*$/, ''))

    expect(named.length).toBeGreaterThan(10)
    expect(folders.filter((name) => !fs.existsSync(path.join(ROOT, name)))).toEqual([])
  })

  test('calls a file by its name, also after the file was renamed', () => {
    const wrong = listPages().flatMap(({ name, text }) =>
      [...text.matchAll(/\[`([\w./-]+\.(?:ts|json|sql))`\]\(([^)#\s]+)/g)]
        .filter(([, label = '', target = '']) => path.basename(label) !== path.basename(target))
        .map(([link]) => `${name}: ${link}`),
    )

    expect(wrong).toEqual([])
  })

  test.each(['ARCHITECTURE.md', 'docs/glossary.md'])(
    'says each thing of a table once in %s',
    (name) => {
      const firsts = readPage(name)
        .text.split('\n')
        .flatMap((line) => /^\| ([^|-][^|]*?) *\|/.exec(line)?.[1] ?? [])

      expect(listRepeated(firsts)).toEqual([])
    },
  )

  test.each(listWrittenPages().map((page) => [page.name, page] as const))(
    'says in %s no sentence twice, and has no heading twice',
    (_name, page) => {
      const beginnings = stripBlocks(page)
        .split('\n')
        .filter((line) => line.length > BEGINNING && !/^(\||>|- \[`test\/)/.test(line))
        .map((line) => line.slice(0, BEGINNING))

      expect(listRepeated([...listHeadings(page), ...beginnings])).toEqual([])
    },
  )

  test('leads a reader from ARCHITECTURE.md into the source', () => {
    const targets = listLinks(readPage('ARCHITECTURE.md')).map(({ target }) => target)

    expect(targets.filter((target) => /^(\.\/)?src\//.test(target)).length).toBeGreaterThan(5)
  })
})

/** What a page of the package may name though only the repository has it; the README says where it is. */
const IN_REPOSITORY = /^((src|test|examples|scripts|bench)\/|(ARCHITECTURE|CONTRIBUTING)\.md$)/

describe('the documentation in the package', () => {
  const packed = listPages().filter(({ name }) => isPacked(name))

  test('has the guides, the reference and the providers', () => {
    const names = packed.map(({ name }) => name)

    expect(names).toContain('docs/guides/sqlite.md')
    expect(names).toContain('docs/reference/errors.md')
    expect(names).toContain('docs/providers/stripe.md')
    expect(readPage('README.md').text).toMatch(/file of `src` or `test`.* in the repository/)
  })

  test.each(packed.map((page) => [page.name, page] as const))(
    'leads from %s to what the package has, or to code in the repository',
    (_name, page) => {
      const targets = listLinks(page).filter(({ target }) => !/^([a-z][a-z+.-]*:|#)/i.test(target))
      const names = targets.map(({ target }) => resolveName(page, target))

      expect(names.filter((name) => !isPacked(name) && !IN_REPOSITORY.test(name))).toEqual([])
    },
  )
})

/** Without those that a script writes: members of several types have the same name and text there. */
function listWrittenPages(): readonly Page[] {
  return listPages().filter(
    ({ name }) => !/^docs\/reference\/(api\/|configuration\.md$)/.test(name),
  )
}

function listRepeated(texts: readonly string[]): readonly string[] {
  return texts.filter((text, index) => texts.indexOf(text) !== index)
}

/** By `files` in the manifest, and what npm always packs. */
function isPacked(name: string): boolean {
  const { files } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    readonly files: readonly string[]
  }
  if (['README.md', 'LICENSE', 'package.json'].includes(name)) return true
  return files.some((pattern) => {
    const parts = pattern.split(/(\*\*\/|\*)/)
    const regex = parts.map((part) => GLOBS[part] ?? part.replaceAll('.', '\\.')).join('')
    return new RegExp(`^${regex}$`).test(name)
  })
}

const GLOBS: Readonly<Record<string, string>> = { '**/': '(.*/)?', '*': '[^/]*' }

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

/** The file that a link of a page leads to, from the root of the repository. */
function resolveName(page: Page, target: string): string {
  const [file = ''] = target.split('#')
  return file === '' ? page.name : path.posix.join(path.posix.dirname(page.name), decodeURI(file))
}

function resolves(page: Page, target: string): boolean {
  const [file = '', anchor] = target.split('#')
  const name = resolveName(page, target)
  if (file !== '' && !fs.existsSync(path.join(ROOT, name))) return false
  if (anchor === undefined) return true
  if (!name.endsWith('.md')) return false
  return listAnchors(file === '' ? page : readPage(name)).has(anchor)
}
