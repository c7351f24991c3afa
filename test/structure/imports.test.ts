import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { checkImports } from '../../scripts/check-imports.ts'
import type { Violation } from '../../scripts/check-imports.ts'
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

  test('has the parts that the rules speak of', () => {
    const parts = ['model/', 'errors.ts', 'store/contract.ts', 'receive/', 'http/']
    for (const part of parts) {
      expect(fs.existsSync(path.join(SRC, part)), part).toBe(true)
      expect(
        IMPORT_RULES.some((rule) => rule.paths.includes(part)),
        part,
      ).toBe(true)
    }
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
    'the model',
    'model/event.ts',
    `import { x } from '../errors.ts'`,
    { kind: 'edge', target: 'errors.ts' },
  ],
  [
    'an algorithm that knows a vendor',
    'verify/hmac.ts',
    `import { x } from '../providers/stripe.ts'`,
    { kind: 'edge' },
  ],
  [
    'a provider that knows a store',
    'providers/x.ts',
    `import { x } from '../store/contract.ts'`,
    { kind: 'edge' },
  ],
  [
    'the contract that knows an engine',
    'store/contract.ts',
    `import { x } from './sqlite/index.ts'`,
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
    'inbox.ts',
    `import { x } from './http/express.ts'`,
    { kind: 'edge' },
  ],
  [
    'an adapter that needs more of the inbox than its type',
    'http/nestjs.ts',
    `import { createInbox } from '../inbox.ts'`,
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
    'providers/stripe.ts',
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
  'inbox.ts',
  'providers/stripe.ts',
  'store/contract.ts',
  'store/sqlite/index.ts',
  'store/postgres/index.ts',
  'work/worker.ts',
  'receive/receive.ts',
  'http/express.ts',
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

  test('a cycle between the inbox and an adapter that it hands out', () => {
    const tree = plant({
      'inbox.ts': `import { x } from './http/fetch.ts'`,
      'http/fetch.ts': `import type { Inbox } from '../inbox.ts'`,
    })

    expect(checkImports(tree).map(({ kind }) => kind)).toEqual(['cycle'])
  })
})

test('the import check lets through what the rules allow', () => {
  const tree = plant({
    'work/worker.ts': `import type { Store } from '../store/contract.ts'\nimport fs from 'node:fs'`,
    'inbox.ts': `import { fetch } from './http/fetch.ts'\nimport { w } from './work/worker.ts'`,
    'http/fetch.ts': `import type { R } from './receiving-inbox.ts'`,
    'http/nestjs.ts': `import type { Inbox } from '../inbox.ts'`,
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
