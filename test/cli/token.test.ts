import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRemoteOperator } from '../../src/gateway/admin/remote-operator.ts'
import { startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'

test('a token is made, shown once, listed without what it says, used and revoked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const run = async (...args: readonly string[]) => {
    const cli = startCli(['token', ...args, '--store', 'sqlite:events.db'], { folder })
    const { code } = await cli.gone
    return { code, output: cli.output(), errors: cli.errors() }
  }

  const made = await run('create', '--name', 'ci', '--role', 'viewer', '--expires', '30d')
  const again = await run('create', '--name', 'ci', '--role', 'viewer')
  const listed = await run('list', '--json')
  const other = await run('create', '--name', 'cd', '--role', 'admin', '--json')
  const token = made.output.trim()

  expect(token).toMatch(/^hko_[\w-]{43}$/)
  expect(again).toMatchObject({ code: 2, output: '' })
  expect(again.errors).toContain('hookonce token revoke ci')
  expect(JSON.parse(listed.output)).toMatchObject([{ name: 'ci', role: 'viewer' }])
  expect(listed.output).not.toContain(token.slice(4))
  expect(JSON.parse(other.output)).toEqual({
    name: 'cd',
    role: 'admin',
    token: expect.stringMatching(/^hko_[\w-]{43}$/),
  })

  const gateway = startCli(
    ['start', '--role', 'admin', '--store', 'sqlite:events.db', '--log-level', 'info'],
    { folder, env: { HOOKONCE_ADMIN_TOKEN: 'a-token-of-the-config' } },
  )
  const { admin } = await gateway.untilLine('gateway.listening')
  await gateway.untilLine('gateway.started')
  const { port } = admin as { readonly port: number }
  await using operator = createRemoteOperator({ url: `http://127.0.0.1:${port}`, token })
  await using stranger = createRemoteOperator({ url: `http://127.0.0.1:${port}` })

  expect(await operator.countEvents()).toBe(0)
  await expect(operator.pause({ source: 'x' })).rejects.toMatchObject({ code: 'ROLE_TOO_LOW' })
  await expect(stranger.countEvents()).rejects.toMatchObject({ code: 'ACCESS_DENIED' })

  const revoked = await run('revoke', 'ci', '--json', '--actor', 'ada')
  expect(revoked).toMatchObject({ code: 0 })
  expect(JSON.parse(revoked.output)).toEqual({ name: 'ci', isRevoked: true })
  expect(await run('revoke', 'ci')).toMatchObject({ code: 3 })
  expect(await run('revoke', 'cd')).toMatchObject({ code: 0, output: 'cd is revoked.\n' })
  await expect(operator.countEvents()).rejects.toMatchObject({ code: 'ACCESS_DENIED' })

  const { output } = await runCommand(['audit', '--json', '--store', 'sqlite:events.db'], {
    folder,
  })
  expect(JSON.parse(output)).toMatchObject([
    { action: 'revokeToken', subject: { id: 'cd' }, actor: userInfo().username },
    { action: 'revokeToken', subject: { id: 'ci' }, actor: 'ada' },
    { action: 'createToken', subject: { id: 'cd' }, actor: userInfo().username },
    { action: 'createToken', subject: { id: 'ci' }, actor: userInfo().username },
  ])
})

test('migrate --json says where the tables are, or what makes them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-migrate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const run = async (...args: readonly string[]) =>
    JSON.parse((await runCommand(['migrate', '--json', ...args], { folder })).output) as unknown

  expect(await run('--store', 'sqlite:made.db')).toEqual({
    store: expect.stringContaining('made.db') as string,
  })
  expect(await run('--print', '--store', 'postgres://')).toEqual({
    sql: expect.stringContaining('create table') as string,
  })
})
