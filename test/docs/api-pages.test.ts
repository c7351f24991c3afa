import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { API_FOLDER, generateApiDocs } from '../../scripts/generate-api-docs.ts'
import { listExports, listPublicEntries, readEntryProgram } from '../../scripts/public-entries.ts'
import { listHeadings, readPage, ROOT } from './markdown.ts'

const pages = Object.entries(generateApiDocs())

describe('the reference of the API', () => {
  test.each(pages)('says in %s what the source says (npm run generate:api)', (file, text) => {
    expect(fs.readFileSync(path.join(ROOT, file), 'utf8')).toBe(text)
  })

  test('has no page of an entry that is no more', () => {
    const files = fs.readdirSync(path.join(ROOT, API_FOLDER)).map((name) => `${API_FOLDER}/${name}`)

    expect(files.sort()).toEqual(pages.map(([file]) => file).sort())
  })

  test.each(listPublicEntries().map((entry) => [entry.specifier, entry] as const))(
    'names everything that %s exports',
    (specifier, entry) => {
      const page = `${specifier.split('/').slice(1).join('-') || specifier}.md`
      const text = fs.readFileSync(path.join(ROOT, API_FOLDER, page), 'utf8')
      const names = [...listExports(readEntryProgram(), entry).keys()]

      expect(names.filter((name) => !text.includes(`\`${name}\``) && !INTERNAL.has(name))).toEqual(
        [],
      )
    },
  )
})

/** For entries of ours, and marked so. */
const INTERNAL: ReadonlySet<string> = new Set(['answerFastify'])

describe('a page of the API', () => {
  const text = readPage(`${API_FOLDER}/hookonce.md`).text
  const section = (name: string): string =>
    text.split(/^### /m).find((one) => one.startsWith(`\`${name}\`\n`)) ?? ''

  test('tells a function by its declaration, its text and what it throws', () => {
    expect(section('createInbox')).toContain('Makes an inbox.')
    expect(section('createInbox')).toContain('```ts excerpt\nfunction createInbox<\n')
    expect(section('createInbox')).not.toContain('new Inbox(')
    expect(section('createInbox')).toContain('- Throws OptionInvalidError')
  })

  test('tells an option by its type, its default and its text', () => {
    expect(section('WorkerOptions')).toMatch(/^\| `concurrency\?` \| `number` \| `\d+` \| \S/m)
  })

  test('has the members that a class inherits from one that a user cannot import, and no hidden ones', () => {
    expect(section('Inbox')).toContain('**`on`** Registers a handler')
    expect(section('Inbox')).not.toMatch(/handlersChanged|#store|constructor/)
  })

  test('leads to a type that has the name of a function, and not to the function', () => {
    const headings = listHeadings({ name: 'hookonce.md', text })
    expect(headings.filter((one) => one.toLowerCase() === '`destination`')).toHaveLength(2)

    expect(section('createInbox')).toContain('[`Destination`](#destination-1)')
  })

  test.each(pages)('makes in %s no type of a list that the reader cannot see', (_file, page) => {
    const lists = [...page.matchAll(/\(typeof (\w+)\)\[number\]/g)].map(([, name = '']) => name)

    expect(lists.filter((name) => !page.includes(`### \`${name}\`\n`))).toEqual([])
  })

  test('tells the vendors in one table', () => {
    const providers = readPage(`${API_FOLDER}/providers.md`).text

    expect(providers).toContain(
      '| [`stripe`](../../providers/stripe.md) | `StripeOptions` = [`SecretOptions`](#secretoptions) | `StripeEvents`, `StripePayload` |',
    )
    expect(providers).not.toContain('### `stripe`')
  })
})
