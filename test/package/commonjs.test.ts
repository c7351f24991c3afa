import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createUserProject } from '../support/user-project.ts'

/** Loads all entries but those for test runners, and says which file the first was in. */
const REQUIRE_ALL = `
  const entries = require('hookonce/package.json').exports
  for (const [entry, { default: code }] of Object.entries(entries)) {
    if (code === undefined || code.includes('/runners/')) continue
    const found = require('hookonce' + entry.slice(1))
    if (Object.keys(found).length === 0) throw new Error(entry + ' is empty')
  }
  const { OptionInvalidError } = require('hookonce')
  try {
    require('hookonce/sqlite').sqliteStore('')
  } catch (error) {
    if (!(error instanceof OptionInvalidError)) throw new Error('There are two of our classes')
  }
  console.log(require.resolve('hookonce').replaceAll(require('node:path').sep, '/'))
`

test.each([
  ['gets the modules', [], '/dist/index.js'],
  // As jest does.
  [
    'gets CommonJS where it cannot load these',
    ['--no-experimental-require-module'],
    '/dist/commonjs/index.cjs',
  ],
])('a require of every entry %s', (_what, flags, file) => {
  const { folder } = createUserProject({ 'all.cjs': REQUIRE_ALL })

  const said = execFileSync(process.execPath, [...flags, 'all.cjs'], {
    cwd: folder,
    encoding: 'utf8',
  })

  expect(said.trim()).toMatch(new RegExp(`${file}$`))
})
