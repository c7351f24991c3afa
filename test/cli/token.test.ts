import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRemoteOperator } from '../../src/gateway/admin/remote-operator.ts'
import { startCli } from '../support/run-cli.ts'
import { aFolder, runCommand } from '../support/run-command.ts'

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

test('tokens are listed and revoked where there is a store, and none is made or migrated for it', async () => {
  const folder = aFolder()

  writeFileSync(join(folder, 'empty.db'), '')

  for (const words of [['list'], ['revoke', 'ci']]) {
    const none = await runCommand(['token', ...words, '--store', 'sqlite:none.db'], { folder })
    const bare = await runCommand(['token', ...words, '--store', 'sqlite:empty.db'], { folder })

    expect(none).toMatchObject({ code: 4, output: '' })
    expect(none.errors).toContain('There is no database at')
    expect(bare).toMatchObject({ code: 4, output: '' })
    expect(bare.errors).toContain('hookonce migrate')
  }
  expect(existsSync(join(folder, 'none.db'))).toBe(false)
})

test('a token is made without a store being made where the config says that a start may not', async () => {
  const folder = aFolder()
  const config = { store: 'sqlite:events.db', migrate: 'check' }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  const create = (...words: string[]) =>
    runCommand(['token', 'create', '--name', 'ci', '--role', 'viewer', ...words], { folder })

  const refused = await create()
  const elsewhere = await create('--config', 'hookonce.config.json', '--store', 'sqlite:other.db')

  for (const { code, errors } of [refused, elsewhere]) {
    expect(code).toBe(4)
    expect(errors).toContain('hookonce migrate makes this one')
  }
  expect(elsewhere.errors).toContain('other.db')
  expect(existsSync(join(folder, 'events.db'))).toBe(false)
  expect(existsSync(join(folder, 'other.db'))).toBe(false)
  expect(await runCommand(['migrate'], { folder })).toMatchObject({ code: 0 })
  expect(await create()).toMatchObject({ code: 0 })
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
