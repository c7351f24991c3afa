import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'vite'
import type { InlineConfig } from 'vite'
import { describe, expect, test } from 'vitest'
import { runService, SERVICE, SERVICE_SAYS } from '../support/bundled-service.ts'
import { findNewerNode } from '../support/newer-node.ts'
import { createUserProject } from '../support/user-project.ts'

const newerNode = await findNewerNode()

/** What `vite build --ssr service.js` leaves of `hookonce` in the file: its name, or its code. */
const NAMED = /from ?["']hookonce["']/

describe('a service that Vite has built for the server', () => {
  test.each<[string, InlineConfig, { isNamed: boolean }]>([
    ['with the packages left outside, as Vite does by itself', {}, { isNamed: true }],
    ['with hookonce taken in', { ssr: { noExternal: ['hookonce'] } }, { isNamed: false }],
    ['with everything taken in', { ssr: { noExternal: true } }, { isNamed: false }],
    [
      'with everything taken in but the binding',
      { ssr: { noExternal: true, external: ['libsql'] } },
      { isNamed: false },
    ],
    [
      'with everything taken in, made small',
      { ssr: { noExternal: true }, build: { minify: true } },
      { isNamed: false },
    ],
  ])('%s runs a handler once', async (_how, config, { isNamed }) => {
    const { folder } = createUserProject({ 'service.js': SERVICE })
    const file = 'out/service.js'

    await build({
      root: folder,
      configFile: false,
      logLevel: 'silent',
      ...config,
      build: { ssr: 'service.js', outDir: 'out', ...config.build },
    })

    expect(existsSync(path.join(folder, file))).toBe(true)
    expect(NAMED.test(readFileSync(path.join(folder, file), 'utf8'))).toBe(isNamed)
    const project = { folder, file }
    expect(await runService(process.execPath, { ...project, driver: 'libsql' })).toBe(SERVICE_SAYS)
    if ('path' in newerNode) {
      const driver = 'node:sqlite'
      expect(await runService(newerNode.path, { ...project, driver })).toBe(SERVICE_SAYS)
    }
  })
})
