import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { createTools } from '../../src/gateway/mcp/tools.ts'
import { bundleCommand } from '../support/faults/bundle-program.ts'
import { connectHttp, connectStdio, ERAS } from '../support/mcp-client.ts'
import { cleanEnvironment, startCli } from '../support/run-cli.ts'
import type { CliProcess } from '../support/run-cli.ts'
import { aFolder, aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { dead } from '../support/store-steps.ts'

const tools = [...createTools().values()]
const reading = tools.filter(({ role }) => role === 'viewer').map(({ name }) => name)
const WHY = { reason: 'the bug is fixed', requestToken: 'a-request-1' }

describe.each(ERAS)('hookonce mcp, started by a client of %s', (era) => {
  test('lets a model read a store, and change nothing', async () => {
    const { store, url } = await aStoreOnFile()
    const eventId = await anEventThat(store, dead)
    const { listNames, read, call } = await connectStdio(['--store', url], {
      folder: aFolder(),
      era,
    })

    expect(await listNames()).toEqual(reading)
    expect(await read('failures')).toMatchObject({ events: [{ id: eventId, state: 'dead' }] })
    const refused = await call('retry', { eventId, ...WHY })
    expect(refused.isError).toBe(true)
    expect(refused.text).toContain('needs the role operator')
    expect(await store.operators.listAudit({ subject: undefined, limit: 10 })).toEqual([])
  })
})

describe('hookonce mcp', () => {
  test('lets it act with a role, once with the same request token, and the audit knows for whom', async () => {
    const { store, url } = await aStoreOnFile()
    const eventId = await anEventThat(store, dead)
    const words = ['--store', url, '--role', 'operator']
    const { listNames, read } = await connectStdio(words, { folder: aFolder() })

    const first = await read('retry', { eventId, ...WHY })
    const second = await read('retry', { eventId, ...WHY })

    expect(await listNames()).toEqual(
      tools.filter(({ role }) => role !== 'admin').map(({ name }) => name),
    )
    expect(first).toMatchObject({ status: 'done', state: 'ready' })
    expect(second).toEqual(first)
    expect(await store.operators.listAudit({ subject: undefined, limit: 10 })).toMatchObject([
      { action: 'retry', actor: 'ada/mcp', reason: 'the bug is fixed' },
    ])
  })

  test('has the role of its token on a gateway, or less where a person says so', async () => {
    const { folder, url, token } = await aGateway('operator')
    const place = ['--url', url, '--token', token]
    const whole = await connectStdio(place, { folder })
    const less = await connectStdio([...place, '--role', 'viewer'], { folder })
    const more = await connectStdio([...place, '--role', 'admin'], { folder })

    expect(await less.listNames()).toEqual(reading)
    expect(await more.listNames()).toEqual(await whole.listNames())
    expect((await whole.listNames()).includes('retry')).toBe(true)
    expect((await whole.listNames()).includes('erase')).toBe(false)
    await whole.read('pause', { target: { source: 'demo' }, ...WHY })
    expect(await whole.read('listAudit')).toMatchObject([
      { actor: 'ci/ada/mcp', action: 'pause' },
      { action: 'createToken' },
    ])
  })

  test('only reads on a gateway that needs no token, and says when it is gone', async () => {
    const { folder, url, gateway } = await aGateway()
    const { listNames, call } = await connectStdio(['--url', url], { folder })
    const names = await listNames()

    gateway.kill('SIGKILL')
    await gateway.gone
    const away = await call('stats')

    expect(names).toEqual(reading)
    expect(away.isError).toBe(true)
    expect(away.text).toContain('Failed (GATEWAY_UNAVAILABLE)')
    expect(away.text).toContain('Instead: try again')
  })

  test('ends when its pipe is closed, and has written nothing but messages', async () => {
    const { url } = await aStoreOnFile()
    const child = spawn(process.execPath, [bundleCommand(), 'mcp', '--store', url], {
      env: cleanEnvironment(),
    })
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'an-editor', version: '1' },
    }

    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`,
    )
    const [first] = (await once(child.stdout, 'data')) as [Buffer]
    const rest = text(child.stdout)
    child.stdin.end()
    const [code] = (await once(child, 'close')) as [number | null]

    expect(JSON.parse(first.toString())).toMatchObject({
      id: 1,
      result: { serverInfo: { name: 'hookonce' }, protocolVersion: '2025-06-18' },
    })
    expect(await rest).toBe('')
    expect(code).toBe(0)
  })

  test('says what cannot be meant, and speaks no protocol', async () => {
    const wrong = await runCommand(['mcp', '--role', 'boss'])
    const both = await runCommand(['mcp', '--url', 'http://127.0.0.1:1', '--store', 'sqlite:x.db'])

    expect(wrong).toMatchObject({ code: 2, output: '' })
    expect(wrong.errors).toContain('viewer, operator, admin')
    expect(both).toMatchObject({ code: 2, output: '' })
  })
})

describe('/mcp without a token', () => {
  test('has every tool in hookonce dev', async () => {
    const dev = startCli(['dev', '--port', '0'], { folder: aFolder() })
    await dev.untilText('Stop with Ctrl-C.')
    const url = /http:\/\/\S+(?=\/api\/v1)/.exec(dev.output())?.[0] ?? ''

    const { listNames } = await connectHttp(url)

    expect(await listNames()).toEqual(tools.map(({ name }) => name))
  })

  test('only reads in hookonce start', async () => {
    const { url } = await aGateway()

    const { listNames } = await connectHttp(url)

    expect(await listNames()).toEqual(reading)
  })
})

/** `hookonce start` on SQLite, with a token of a role where one is wanted. */
async function aGateway(role?: string) {
  const folder = aFolder()
  const store = ['--store', 'sqlite:hookonce.db']
  const config = { sources: { demo: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } } }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  const { output: token } =
    role === undefined
      ? { output: '' }
      : await runCommand(['token', 'create', '--name', 'ci', '--role', role, ...store], { folder })
  const gateway = startCli(['start', '--port', '0', ...store], {
    folder,
    env: role === undefined ? {} : { HOOKONCE_ADMIN_TOKEN: 'the-token-of-the-config' },
  })
  await gateway.untilLine('gateway.started')
  return { folder, token, gateway, url: await adminUrlOf(gateway) }
}

async function adminUrlOf(gateway: CliProcess): Promise<string> {
  const { admin } = await gateway.untilLine('gateway.listening')
  return `http://127.0.0.1:${(admin as { port: number }).port}`
}
