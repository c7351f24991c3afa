import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { checkImports } from '../../scripts/check-imports.ts'
import type { Violation } from '../../scripts/check-imports.ts'
import { drawParts, listPartCycles, readPicture } from '../../scripts/draw-parts.ts'
import { IMPORT_RULES } from '../../scripts/import-rules.ts'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

const trees: string[] = []
afterEach(() => {
  for (const tree of trees.splice(0)) fs.rmSync(tree, { recursive: true, force: true })
})

describe('the source tree', () => {
  test('imports only what its rules allow, without a cycle and without a package from outside', () => {
    expect(checkImports(SRC)).toEqual([])
  })

  test('has every part that the rules speak of, and no rule allows what leads back', () => {
    for (const { path: own } of IMPORT_RULES)
      expect(fs.existsSync(path.join(SRC, own)), own).toBe(true)
    expect(listPartCycles()).toEqual([])
  })

  test('is drawn in ARCHITECTURE.md as it is', () => {
    expect(readPicture()).toBe(drawParts(SRC))
  })

  test('has the folders that the record of them names', () => {
    const record = fs.readFileSync('docs/decisions/2026-11-folders-are-nouns.md', 'utf8')
    const named = record
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .flatMap((line) => Array.from(line.matchAll(/`([^`]+)`/g), ([, name]) => name))
    const folders = fs.readdirSync(SRC, { withFileTypes: true }).filter((one) => one.isDirectory())

    expect(named.sort()).toEqual(folders.map(({ name }) => name).sort())
  })
})

/** One forbidden import each: the file that has it, what it imports, and what must be said. */
const FORBIDDEN: readonly [
  name: string,
  file: string,
  statement: string,
  expected: Partial<Violation>,
][] = [
  [
    'the model that knows a phase',
    'model/event.ts',
    `import { x } from '../receive/receive.ts'`,
    { kind: 'edge', target: 'receive/receive.ts' },
  ],
  [
    'an algorithm that knows a vendor',
    'verify/hmac.ts',
    `import { x } from '../providers/vendors/stripe.ts'`,
    { kind: 'edge' },
  ],
  [
    'a provider that knows a store',
    'providers/x.ts',
    `import { x } from '../store/contract/store.ts'`,
    { kind: 'edge' },
  ],
  [
    'the contract that knows an engine',
    'store/contract/store.ts',
    `import { x } from '../sqlite/index.ts'`,
    { kind: 'edge' },
  ],
  [
    'a store that imports another store',
    'store/postgres/x.ts',
    `import { x } from '../sqlite/index.ts'`,
    { kind: 'edge', target: 'store/sqlite/index.ts' },
  ],
  [
    'a store that knows a phase',
    'store/postgres/x.ts',
    `import type { X } from '../../work/worker.ts'`,
    { kind: 'edge' },
  ],
  [
    'a phase that knows a store',
    'work/worker.ts',
    `import { x } from '../store/postgres/index.ts'`,
    { kind: 'edge' },
  ],
  [
    'a phase that knows another phase',
    'receive/receive.ts',
    `export { x } from '../work/worker.ts'`,
    { kind: 'edge' },
  ],
  [
    'an inbox that loads a framework',
    'inbox/inbox.ts',
    `import { x } from '../http/frameworks/express.ts'`,
    { kind: 'edge' },
  ],
  [
    'an adapter that knows the inbox',
    'http/frameworks/nestjs.ts',
    `import type { Inbox } from '../../inbox/inbox.ts'`,
    { kind: 'edge' },
  ],
  [
    'a main entry that loads a store',
    'index.ts',
    `export { x } from './store/sqlite/index.ts'`,
    { kind: 'edge' },
  ],
  [
    'a forbidden import behind import()',
    'work/worker.ts',
    `await import('../receive/receive.ts')`,
    { kind: 'edge' },
  ],
  [
    'a forbidden import inside a type',
    'work/worker.ts',
    `type X = import('../receive/receive.ts').X`,
    { kind: 'edge' },
  ],
  [
    'a package from outside',
    'verify/hmac.ts',
    `import { z } from 'zod'`,
    { kind: 'outside', target: 'zod' },
  ],
  [
    'only the types of a package from outside',
    'store/postgres/x.ts',
    `import type { Pool } from 'pg'`,
    { kind: 'outside', target: 'pg' },
  ],
  [
    'the types of a package that another entry may import',
    'providers/vendors/stripe.ts',
    `import type Stripe from 'stripe'`,
    { kind: 'outside', target: 'stripe' },
  ],
  [
    'the code of a package in an entry of types',
    'types/stripe.ts',
    `import Stripe from 'stripe'`,
    { kind: 'outside', target: 'stripe' },
  ],
  [
    'a driver loaded elsewhere than in its file',
    'store/sqlite/connection.ts',
    `await import('libsql')`,
    { kind: 'outside', target: 'libsql' },
  ],
  [
    'a driver loaded by a static import',
    'store/sqlite/driver-libsql.ts',
    `import { x } from 'libsql'`,
    { kind: 'outside', target: 'libsql' },
  ],
  [
    'a driver loaded by require',
    'store/sqlite/connection.ts',
    `require('libsql')`,
    { kind: 'outside', target: 'libsql' },
  ],
  [
    'a Node module without its prefix',
    'verify/hmac.ts',
    `import { createHmac } from 'crypto'`,
    { kind: 'outside', target: 'crypto' },
  ],
  [
    'an import worked out at run time',
    'work/worker.ts',
    `await import(name)`,
    { kind: 'unreadable' },
  ],
  [
    'an import worked out at run time where packages are bundled',
    'gateway/x.ts',
    `await import(name)`,
    { kind: 'unreadable' },
  ],
  [
    'an import worked out at run time in a file that may load a package by its name',
    'store/sqlite/driver-libsql.ts',
    `await import(name)`,
    { kind: 'unreadable' },
  ],
  [
    'a file that leaves the source tree',
    'work/worker.ts',
    `import { x } from '../../test/x.ts'`,
    { kind: 'unreadable' },
  ],
  ['a file without a part', 'somewhere/x.ts', ``, { kind: 'homeless', file: 'somewhere/x.ts' }],
]

/** What every made-up tree has, so that each statement above has something to point at. */
const TARGETS = [
  'errors.ts',
  'inbox/inbox.ts',
  'providers/vendors/stripe.ts',
  'store/contract/store.ts',
  'store/sqlite/index.ts',
  'store/postgres/index.ts',
  'work/worker.ts',
  'receive/receive.ts',
  'http/frameworks/express.ts',
  'http/fetch.ts',
  'http/receiving-inbox.ts',
]

describe('the import check catches', () => {
  test.each(FORBIDDEN)('%s', (_name, file, statement, expected) => {
    const violations = checkImports(plant({ [file]: statement }))

    expect(violations).toHaveLength(1)
    expect(violations[0]).toMatchObject({ file, ...expected })
    expect(violations[0]?.because).toMatch(/^[A-Z].*\.$/)
  })

  test('a cycle between two files of the same folder, once', () => {
    const tree = plant({
      'work/a.ts': `import { b } from './b.ts'`,
      'work/b.ts': `import type { A } from './a.ts'`,
    })

    const violations = checkImports(tree)

    expect(violations).toHaveLength(1)
    expect(violations[0]).toMatchObject({
      kind: 'cycle',
      target: 'work/a.ts → work/b.ts → work/a.ts',
    })
  })
})

test('the import check lets through what the rules allow', () => {
  const tree = plant({
    'work/worker.ts': `import type { Store } from '../store/contract/store.ts'\nimport fs from 'node:fs'`,
    'inbox/inbox.ts': `import { fetch } from '../http/fetch.ts'\nimport { w } from '../work/worker.ts'`,
    'http/fetch.ts': `import type { R } from './receiving-inbox.ts'`,
    'http/frameworks/nestjs.ts': `import type { R } from '../receiving-inbox.ts'`,
    'store/sqlite/driver-libsql.ts': `await import('libsql')`,
    'store/sqlite/open-driver.ts': `await import(name)`,
    'verify/hmac.ts': `// import { z } from 'zod'\nconst text = "import { z } from 'zod'"`,
  })

  expect(checkImports(tree)).toEqual([])
})

function plant(files: Readonly<Record<string, string>>): string {
  const tree = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-imports-'))
  trees.push(tree)
  const all = { ...Object.fromEntries(TARGETS.map((file) => [file, ''])), ...files }
  for (const [file, text] of Object.entries(all)) {
    fs.mkdirSync(path.dirname(path.join(tree, file)), { recursive: true })
    fs.writeFileSync(path.join(tree, file), `${text}\nexport {}\n`)
  }
  return tree
}
