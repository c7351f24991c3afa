/**
 * What users write, with each setting of modules that TypeScript has for Node and bundlers.
 *
 * @module
 */

export interface Consumer {
  readonly name: string
  /** As in `tsconfig.json`. */
  readonly module: 'esnext' | 'nodenext' | 'node16'
  readonly moduleResolution: 'bundler' | 'nodenext' | 'node16'
  /** The `type` of the user's own package. */
  readonly type: 'module' | 'commonjs'
  /** What the compiler wrote, to be run. */
  readonly run?: string
  /** The error that is all one can have there. */
  readonly refusedAs?: string
}

/**
 * `require` of an ES module works on Node from 20.19 on. `nodenext` knows that, and `node16` stands for a Node that does
 * not: there a CommonJS file can only use `import()`.
 */
export const CONSUMERS: readonly Consumer[] = [
  { name: 'bundler', module: 'esnext', moduleResolution: 'bundler', type: 'module' },
  {
    name: 'nodenext-esm',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    type: 'module',
    run: 'service.js',
  },
  {
    name: 'nodenext-cjs',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    type: 'commonjs',
    run: 'service.js',
  },
  {
    name: 'node16-esm',
    module: 'node16',
    moduleResolution: 'node16',
    type: 'module',
    run: 'service.js',
  },
  {
    name: 'node16-cjs',
    module: 'node16',
    moduleResolution: 'node16',
    type: 'commonjs',
    refusedAs: 'TS1479',
  },
]

const SERVICE = `
import { createInbox, destination } from 'hookonce'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { testInbox } from 'hookonce/testing'

export const inbox = createInbox({
  store: sqliteStore('never-opened.db'),
  sources: { stripe: stripe({ secrets: ['a-secret-of-more-than-16-bytes'] }) },
  destinations: [destination('mail', () => undefined)],
})
inbox.on('stripe', 'invoice.paid', async (event, { send }) => {
  await send('mail', { invoice: event.payload.data.object['id'] })
  // @ts-expect-error there is no such destination
  if (event.key === '') await send('nosuch', {})
})
if (typeof testInbox !== 'function') throw new Error('testInbox is missing')
`

/** The files of a user's project. */
export function consumerFiles({
  module,
  moduleResolution,
  type,
}: Consumer): Readonly<Record<string, string>> {
  const compilerOptions = {
    module,
    moduleResolution,
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    strict: true,
    types: ['node'],
    skipLibCheck: false,
  }
  return {
    'package.json': JSON.stringify({ private: true, type }),
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['service.ts'] }),
    'service.ts': SERVICE,
  }
}
