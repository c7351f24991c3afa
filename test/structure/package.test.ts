import { describe, expect, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { checkManifest } from '../../scripts/check-package.ts'
import { findStaleWeights, PARTS, weighParts } from '../../scripts/weigh-parts.ts'

const MANIFEST = {
  name: 'hookonce',
  version: '0.1.0',
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  scripts: { build: 'tsc', test: 'vitest run' },
  peerDependencies: { pg: '*' },
  peerDependenciesMeta: { pg: { optional: true } },
}

const FILES = [
  'dist/index.js',
  'dist/index.d.ts',
  'docs/guides/sqlite.md',
  'package.json',
  'README.md',
  'LICENSE',
]
const PACKED = {
  filename: 'x.tgz',
  size: 1,
  unpackedSize: 1,
  files: FILES.map((path) => ({ path })),
}

describe('the package check', () => {
  test('is content with a package that has what it names', () => {
    expect(checkManifest(MANIFEST, PACKED)).toEqual([])
  })

  test.each([
    [
      'an entry whose file is missing',
      { exports: { './node': './dist/http/node.js' } },
      'dist/http/node.js',
    ],
    [
      'a script that runs when it is installed',
      { scripts: { postinstall: 'node x.js' } },
      'postinstall',
    ],
    [
      'a file that is missing for require alone',
      {
        exports: { '.': { require: { default: './dist/index.cjs' }, default: './dist/index.js' } },
      },
      'dist/index.cjs',
    ],
    ['a script that runs when it is packed', { scripts: { prepare: 'husky' } }, 'prepare'],
    [
      'an optional dependency, which npm installs for every user',
      { optionalDependencies: { libsql: '1' } },
      'libsql',
    ],
    ['a run-time dependency', { dependencies: { zod: '4' } }, 'zod'],
    ['a peer whose version may be refused', { peerDependencies: { pg: '>=8' } }, 'pg'],
    ['a peer that every user would have to install', { peerDependenciesMeta: {} }, 'pg'],
  ])('refuses %s', (_name, change, named) => {
    const problems = checkManifest({ ...MANIFEST, ...change }, PACKED)

    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(named)
  })

  test.each([
    [
      'a file that no user needs',
      { files: [...PACKED.files, { path: 'test/x.test.ts' }] },
      'test/x.test.ts',
    ],
    [
      'what the documentation is made from',
      { files: [...PACKED.files, { path: 'docs/provider-notes/stripe.ts' }] },
      'docs/provider-notes/stripe.ts',
    ],
    [
      'a package without its documentation',
      { files: PACKED.files.filter(({ path }) => !path.startsWith('docs/')) },
      'docs',
    ],
    [
      'a package without its licence',
      { files: PACKED.files.filter(({ path }) => path !== 'LICENSE') },
      'LICENSE',
    ],
    ['a package that has grown too heavy', { unpackedSize: 50_000_000 }, 'unpacked size'],
  ])('refuses %s', (_name, change, named) => {
    const problems = checkManifest(MANIFEST, { ...PACKED, ...change })

    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(named)
  })
})

describe('the bytes of each part of the package', () => {
  const page = readFileSync(new URL('../../docs/sizing.md', import.meta.url), 'utf8')

  test('are those of all its files, each counted once', () => {
    const files = [
      { path: 'dist/cli/main.js', size: 1 },
      { path: 'dist/store/postgres/index.js', size: 2 },
      { path: 'dist/index.js', size: 4 },
      { path: 'docs/gateway.md', size: 8 },
      { path: 'LICENSE', size: 16 },
    ]

    const weights = weighParts(files)

    expect([...weights.keys()]).toEqual(PARTS.map(({ name }) => name))
    expect([...weights.values()].toSorted((one, other) => one - other)).toEqual([
      0, 0, 0, 0, 0, 0, 1, 2, 8, 20,
    ])
  })

  test('are on the page, each of them', () => {
    const missing = findStaleWeights(page, new Map(PARTS.map(({ name }) => [name, 1])))

    expect(missing).toHaveLength(PARTS.length)
    expect(missing.filter((problem) => problem.includes('says nothing'))).toEqual([])
  })

  test('are told where the page is far from them', () => {
    const row = '| the Redis guard | 80,000 |'

    expect(findStaleWeights(row, new Map([['the Redis guard', 83_000]]))).toEqual([])
    expect(findStaleWeights(row, new Map([['the Redis guard', 100_000]]))).toEqual([
      'docs/sizing.md says 80000 of the bytes of the Redis guard, which are 100000',
    ])
  })
})
