import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ERROR_CODES } from '../../src/errors.ts'
import { listHeadings, readPage, ROOT } from './markdown.ts'

const sources = listTypeScript('src')
const tests = listTypeScript('test').filter(({ name }) => !name.startsWith('test/docs/'))
/** The classes of errors that carry a code, by their codes. */
const CLASSES = readClasses()

describe('every error code', () => {
  test('is in the list once', () => {
    expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length)
  })

  test('has a heading in docs/reference/errors.md, and every such heading is a code', () => {
    const headings = listHeadings(readPage('docs/reference/errors.md')).map((heading) =>
      heading.replaceAll('`', ''),
    )

    expect(headings.filter((heading) => /^[A-Z]+(_[A-Z]+)*$/.test(heading)).sort()).toEqual(
      [...ERROR_CODES].sort(),
    )
  })

  test.each(ERROR_CODES)('%s is thrown somewhere', (code) => {
    expect(sources.filter((source) => throws(source, code)).map(({ name }) => name)).not.toEqual([])
  })

  test.each(ERROR_CODES)('%s is expected by a test', (code) => {
    expect(
      tests.filter(({ text }) => text.includes(`'${code}'`)).map(({ name }) => name),
    ).not.toEqual([])
  })
})

test('a code that is only compared with counts as thrown nowhere', () => {
  const text = "if (error.code === 'STORE_BUSY') return\nswitch (code) { case 'STORE_BUSY': }"

  expect(throws({ name: 'src/made-up.ts', text }, 'STORE_BUSY')).toBe(false)
  expect(
    throws(
      { name: 'src/made-up.ts', text: "throw new HookonceError('STORE_BUSY', '')" },
      'STORE_BUSY',
    ),
  ).toBe(true)
  expect(
    throws({ name: 'src/made-up.ts', text: 'throw new OptionInvalidError()' }, 'OPTION_INVALID'),
  ).toBe(true)
})

interface SourceText {
  readonly name: string
  readonly text: string
}

/** Whether a file makes an error with this code: by the code itself, or by the class that carries it. */
function throws({ name, text }: SourceText, code: string): boolean {
  const className = CLASSES.get(code)
  if (className !== undefined && text.includes(`new ${className}(`)) return true
  if (name === 'src/errors.ts' || !text.includes(`'${code}'`)) return false
  const uses = [...text.matchAll(new RegExp(`(\\S*)\\s*'${code}'`, 'g'))]
  return uses.some((use) => !/(===|!==|case|\|)$/.test(use[1] ?? ''))
}

function listTypeScript(folder: string): readonly SourceText[] {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => path.posix.join(folder, file.split(path.sep).join('/')))
    .map((name) => ({ name, text: fs.readFileSync(path.join(ROOT, name), 'utf8') }))
}

function readClasses(): ReadonlyMap<string, string> {
  const errors = fs.readFileSync(path.join(ROOT, 'src/errors.ts'), 'utf8')
  const declared =
    /class (\w+) extends HookonceError(?:(?!\nclass |\nexport )[\s\S])*?super\(\s*'([A-Z_]+)'/g
  const overridden = /class (\w+) extends \w+Error \{[^}]*?override readonly code = '([A-Z_]+)'/g
  const found = [...errors.matchAll(declared), ...errors.matchAll(overridden)]
  // The first of them counts.
  return new Map(found.reverse().map(([, name = '', code = '']) => [code, name]))
}
