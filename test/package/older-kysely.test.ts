import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createUserProject } from '../support/user-project.ts'

const START = `
  import { kyselyTx } from 'hookonce/kysely'
  import { sqliteStore } from 'hookonce/sqlite'

  const open = (options) => sqliteStore('app.db', { driver: 'libsql', ...options }).open()
  await open({})
  console.log('opened without it')
  await open({ tx: kyselyTx() }).catch(({ code, message }) => console.log(code, message))
`

test('a Kysely that is too old is refused by its binding, and is in the way of nothing else', () => {
  const { folder } = createUserProject({ 'start.mjs': START })
  const installed = path.join(import.meta.dirname, '../../node_modules/kysely27')
  fs.symlinkSync(installed, path.join(folder, 'node_modules/kysely'))

  const { stdout, stderr } = spawnSync(process.execPath, ['start.mjs'], {
    cwd: folder,
    encoding: 'utf8',
  })

  expect(stderr).toBe('')
  expect(stdout).toMatch(
    /^opened without it\nDRIVER_MISSING The kysely that is installed is too old/,
  )
})
