/** What a process can tell of a worker of another one: in its own container, and in another of the same host. */

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Heart } from '../../../src/store/contract/workers.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { openStore } from '../../support/store-under-test.ts'

const PROGRAM = fileURLToPath(new URL('list-hearts.ts', import.meta.url))

/** Has process ids of its own, and the hostname of this machine. */
const IN_A_CONTAINER = ['unshare', '--pid', '--fork', '--mount-proc'] as const

const mayContain = run([...IN_A_CONTAINER, 'true']).status === 0
if (!mayContain) process.stderr.write('unshare is not allowed here: PID namespaces are skipped\n')

function run([command, ...args]: readonly [string, ...string[]]) {
  return spawnSync(command, args, { encoding: 'utf8' })
}

/** The worker of this process, as another process sees it. */
async function seeOwnWorker(prefix: readonly string[]) {
  const { database, store } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const { file } = database
  await store.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
  const node = [process.execPath, '--import', 'tsx', PROGRAM, file, DEFAULT_DRIVER]
  const see = (): readonly Heart[] => {
    const { stdout, stderr } = run([...prefix, ...node] as [string, ...string[]])
    if (!stdout.startsWith('[')) throw new Error(`It printed ${stdout} and ${stderr}`)
    return JSON.parse(stdout) as readonly Heart[]
  }
  return { database, see }
}

describe('sqlite: a worker of another process', () => {
  test('is not gone while its process lives, and is when that is gone', async () => {
    const { database, see } = await seeOwnWorker([])
    expect(see()).toMatchObject([{ workerId: 'worker-1', isGone: false }])

    const { pid } = run([process.execPath, '--version'])
    await database.query('update hookonce_workers set pid = $1', [pid])

    expect(see()).toMatchObject([{ workerId: 'worker-1', isGone: true }])
  })

  test.skipIf(!mayContain)(
    'is not gone because another container has no process of its id',
    async () => {
      const { see } = await seeOwnWorker(IN_A_CONTAINER)

      expect(see()).toMatchObject([{ workerId: 'worker-1', isGone: false }])
    },
  )
})
