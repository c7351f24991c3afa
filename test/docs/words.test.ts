import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from './markdown.ts'

/** What the repository must not say, because it is true of one machine only. */
const FORBIDDEN: readonly [name: string, pattern: RegExp][] = [
  [
    'the host of a package registry',
    /\bregistry\.(?!test\.ts)[a-z]+\.[a-z]{2,}|\byarnpkg\.com\b|"resolved"\s*:/,
  ],
  [
    'a path in a person’s home or work folder',
    /(?:^|[\s'"`(=:])\/(?:home|root|work|Users)\/[\w.-]+/m,
  ],
]

/** What comments name that is a file of the user, or one that is made. */
const NOT_OURS: readonly string[] = ['hookonce.config.ts']

test('a comment in src names no file that is not there', () => {
  const files = listFiles()
  const isThere = (name: string): boolean => files.some((file) => `/${file}`.endsWith(`/${name}`))
  const found = files
    .filter((file) => /^src\/.*\.ts$/.test(file))
    .flatMap((file) =>
      [...readText(file).matchAll(/`(?:\.\.?\/)*([\w./-]+\.(?:ts|md))`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !isThere(name) && !NOT_OURS.includes(name))
        .map((name) => `${file}: ${name}`),
    )

  expect(found).toEqual([])
})

describe('no file of the repository names', () => {
  test.each(FORBIDDEN)('%s', (_name, pattern) => {
    const found = listFiles().filter((file) => pattern.test(readText(file)))

    expect(found).toEqual([])
  })
})

test('the search for forbidden words finds them', () => {
  const [hosts, paths] = FORBIDDEN.map(([, pattern]) => pattern)

  expect(hosts?.test(`https://${['registry', 'example', 'org'].join('.')}/x`)).toBe(true)
  expect(hosts?.test(`${JSON.stringify('resolved')}: 1`)).toBe(true)
  expect(paths?.test(`at ${['', 'home', 'person'].join('/')}`)).toBe(true)
  expect(paths?.test("import '../work/worker.ts'")).toBe(false)
  expect(listFiles()).toContain('package-lock.json')
})

/**
 * Pronouns that do not say who acts. A reader who was paged needs the subject: another worker, the sender, the
 * handler. The last ones of the first list may stand in an address, such as the recipients of the fixtures.
 */
const PRONOUNS =
  /\b(?:whoever|whomever|nobody|somebody|anybody|everybody|no one|someone|anyone|everyone)s?\b(?!@)|\b(?:those|ones?|all|alone) who\b/i

/** Also in the names of the code: `isTheirFault` is three words, and so is `is_their_fault`. */
function leavesOpenWhoActs(text: string): boolean {
  return PRONOUNS.test(text.replace(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' '))
}

test('no text of ours leaves open who acts', () => {
  const found = listFiles()
    .filter((file) => isOurs(file))
    .flatMap((file) =>
      readText(file)
        .split('\n')
        .flatMap((line, index) =>
          leavesOpenWhoActs(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
        ),
    )

  expect(found).toEqual([])
})

test.each([
  'nobody’s fault',
  "somebody's row",
  'Whoever calls',
  'reported to no one',
  'isNobodysFault(error)',
  'const nobodys = []',
  'whsec_of_somebody_else',
  'for those who look at events',
  'the clock of the one who watches',
  'All who wait',
])('the search for such pronouns finds "%s"', (text) => {
  expect(leavesOpenWhoActs(text)).toBe(true)
})

test.each(['someone@example.com', 'the sender', 'one of them', 'a person who waits'])(
  'the search for such pronouns lets "%s" be',
  (text) => {
    expect(leavesOpenWhoActs(text)).toBe(false)
  },
)

/** Secrets and payloads in vectors are the providers' own texts. This file has to name the words. */
function isOurs(file: string): boolean {
  const isText = /\.(?:ts|js|json|md|sql)$/.test(file)
  return isText && !file.endsWith('vectors.json') && file !== 'test/docs/words.test.ts'
}

/** Everything that is, or is about to be, under version control. */
function listFiles(): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const names = execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  }).split('\n')
  return names.filter((name) => name !== '' && fs.existsSync(path.join(ROOT, name)))
}

function readText(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'latin1')
}
