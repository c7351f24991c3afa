/** Disks that are full, files that may not grow, and files that may not be written: each says so. */

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { DEFAULT_DRIVER } from '../../support/sqlite-under-test.ts'

const LIMIT_MS = 120_000
const PROGRAM = new URL('./record-until-refused.ts', import.meta.url).pathname

interface Refused {
  readonly recorded: number
  readonly name: string
  readonly code: string
  readonly message: string
  readonly because: string
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hookonce-disk-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** In a shell, whose limits are those of the process. */
function recordUntilRefused(file: string, { before = '', uid = process.getuid?.() } = {}): Refused {
  const command = `${before} exec "$0" --import tsx "$1" "$2" ${DEFAULT_DRIVER}`
  const { stdout, stderr } = spawnSync('sh', ['-c', command, process.execPath, PROGRAM, file], {
    encoding: 'utf8',
    ...(uid === undefined ? {} : { uid }),
  })
  const line = stdout.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`It printed ${stdout} and ${stderr}`)
  return JSON.parse(line) as Refused
}

describe('sqlite: a disk that does not take what is written', () => {
  test(
    'R09: a file that may not grow any more is named as an error of the disk',
    { timeout: LIMIT_MS },
    async () => {
      const folder = await makeFolder()

      const refused = recordUntilRefused(join(folder, 'a.db'), {
        before: "trap '' XFSZ; ulimit -f 8000;",
      })

      expect(refused.recorded).toBeGreaterThan(0)
      expect(refused.message).toContain('disk I/O error')
      expect(refused.message).not.toContain('connection was lost')
      expect(refused.because).toContain('disk I/O error')
      expect(['STORE_UNAVAILABLE', 'COMMIT_UNKNOWN']).toContain(refused.code)
    },
  )

  test(
    'R09: a full disk is named, what was acknowledged is there, and it goes on when there is room',
    { timeout: LIMIT_MS },
    async ({ skip }) => {
      const folder = await makeFolder()
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder], {
          stdio: 'ignore',
        })
      } catch {
        return skip('only root can mount a small disk')
      }
      const file = join(folder, 'a.db')
      const store = sqliteStore(file, { driver: DEFAULT_DRIVER })
      onTestFinished(async () => {
        await store.close()
        execFileSync('umount', ['-l', folder])
      })
      await store.open()
      const record = (key: string) =>
        store.events.record([anEventDraft({ key, body: 'x'.repeat(50_000) })], {
          deadlineMs: LIMIT_MS,
        })
      const ballast = join(folder, 'ballast')
      execFileSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=1M', 'count=2'], { stdio: 'ignore' })

      let acknowledged = 0
      let refused: unknown
      while (refused === undefined && acknowledged < 1_000) {
        await record(`evt_${acknowledged}`).then(
          () => (acknowledged += 1),
          (error: unknown) => (refused = error),
        )
      }

      expect(refused).toMatchObject({
        message: expect.stringContaining('database or disk is full') as string,
        cause: { message: 'database or disk is full' },
      })
      expect(['STORE_UNAVAILABLE', 'COMMIT_UNKNOWN']).toContain((refused as { code: string }).code)
      expect(await store.operators.countEvents()).toBeGreaterThanOrEqual(acknowledged)
      rmSync(ballast)
      expect(await record('later')).toMatchObject([{ status: 'accepted' }])
    },
  )

  test('R09: a file that may not be written is named as such', { timeout: LIMIT_MS }, async () => {
    const folder = await makeFolder()
    const file = join(folder, 'a.db')
    const store = sqliteStore(file, { driver: DEFAULT_DRIVER })
    await store.open()
    await store.close()
    chmodSync(file, 0o444)
    chmodSync(folder, 0o555)

    // To root a mode means nothing.
    const refused = recordUntilRefused(file, process.getuid?.() === 0 ? { uid: 65_534 } : {})

    chmodSync(folder, 0o755)
    expect(refused).toMatchObject({ recorded: 0, code: 'STORE_UNAVAILABLE' })
    // A binding opens the file at once, or with the first statement: then it is SQLite that refuses.
    expect(refused.message).toMatch(/readonly|unable to open|cannot be opened/)
    expect(refused.message).toMatch(/allowed to write|may this process write/)
  })
})
