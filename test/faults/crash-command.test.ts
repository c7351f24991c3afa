import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSX = createRequire(import.meta.url).resolve('tsx/cli')

function crash(...args: string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [TSX, 'scripts/crash.ts', ...args],
      { cwd: ROOT },
      (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? -1, said: `${stdout}${stderr}` }),
    )
  })
}

test('the crash command says what it counted when all is well', { timeout: 280_000 }, async () => {
  const { code, said } = await crash(
    ...['--minutes', '0.05', '--seed', '7', '--store', 'sqlite', '--faults', 'kills'],
  )

  expect(said).toMatch(/sqlite: (\d+) events acknowledged, \1 applied once, 0 lost, 0 doubled$/m)
  expect(said).not.toMatch(/sqlite: 0 events/)
  expect(said).toMatch(/\d+ processes were replaced/)
  expect(said).toMatch(/\d+ × (?:kill -9|SIGTERM|a frozen)/)
  expect(code, said).toBe(0)
})

test('the crash command refuses a fault it does not have, and names those it has', async () => {
  const { code, said } = await crash('--faults', 'kills,kils')

  expect(code).toBe(2)
  expect(said).toContain('kills,connections,restarts,outages,crowds')
})
