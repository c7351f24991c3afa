import { describe, expect, test } from 'vitest'
import { checkManifest } from '../../scripts/check-package.ts'

const MANIFEST = {
  name: 'hookonce',
  version: '0.1.0',
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  scripts: { build: 'tsc', test: 'vitest run' },
  peerDependencies: { pg: '>=8' },
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
    ['a script that runs when it is packed', { scripts: { prepare: 'husky' } }, 'prepare'],
    [
      'an optional dependency, which npm installs for every user',
      { optionalDependencies: { libsql: '1' } },
      'libsql',
    ],
    ['a run-time dependency', { dependencies: { zod: '4' } }, 'zod'],
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
