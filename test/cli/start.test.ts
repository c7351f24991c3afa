import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { sign } from '../../src/testing/index.ts'
import { startAgain } from '../support/faults/start-again.ts'
import { hasNoBinaries } from '../support/postgres/find-binaries.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { hasNoPostgres, createEmptyPostgresDatabase } from '../support/postgres/open-postgres.ts'
import { createDatabaseOn, startPostgres } from '../support/postgres/start-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { startCli } from '../support/run-cli.ts'
import type { CliProcess } from '../support/run-cli.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('hookonce start', () => {
  test('is ready when it says so, and loses nothing that it has answered when it is told to stop', async () => {
    const sink = await startSink()
    const folder = aFolder({ url: sink.url })
    const first = startCli(['start', '--port', '0'], { folder })
    const port = await portOf(first)
    await first.untilLine('gateway.started')
    expect(await statusOf(port, 'readyz')).toBe(200)

    const sent = Array.from({ length: 50 }, (_, index) => deliver(port, `evt_${index}`))
    await sent[0]
    first.kill('SIGTERM')
    const statuses = await Promise.all(sent)
    expect(await first.gone).toEqual({ code: 0, signal: null })
    startCli(['start', '--port', '0'], { folder })
    const answered = statuses.flatMap((status, index) => (status === 200 ? [`evt_${index}`] : []))
    // Some of them may come twice, under one key each.
    await until('all that was answered has arrived', () => {
      const arrived = idsOf(sink)
      return answered.every((key) => arrived.has(key))
    })

    expect(answered).toContain('evt_0')
    expect([...sink.countEffects().values()].every((count) => count === 1)).toBe(true)
  })

  test('R45: told to stop, it is not ready first, and goes on as before until a balancer can have noticed', async () => {
    const sink = await startSink()
    const folder = aFolder({ url: sink.url })
    const env = { HOOKONCE_RECEIVE__WITHDRAW_MS: '3600000' }
    const cli = startCli(['start', '--port', '0'], { folder, env })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    cli.kill('SIGTERM')
    await until('it is not ready', async () => (await statusOf(port, 'readyz')) === 503)

    expect(await statusOf(port, 'healthz')).toBe(200)
    expect(await deliver(port, 'evt_1')).toBe(200)
    await sink.untilRequests(1)
  })

  test('R45: told to stop, it takes what a proxy sends on a connection that it has kept, and closes that with its answer', async () => {
    const sink = await startSink()
    const folder = aFolder({ url: sink.url, stopGraceMs: 60_000 })
    const cli = startCli(['start', '--port', '0'], { folder })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')
    const proxy = await rawSender(port)
    proxy.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await proxy.answered('"ok"')
    const { headers, body } = sign('stripe', { key: 'evt_1' }, { secret: SECRET })
    const head = Object.entries({ ...headers, host: 'x', 'content-length': body.byteLength })
    const lines = head.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('')
    proxy.write(`POST /in/stripe HTTP/1.1\r\n${lines}\r\n`)

    cli.kill('SIGTERM')
    await until('it takes no new connection', () => isRefused(port))
    proxy.write(body)
    const answers = await proxy.closed

    expect(statuses(answers)).toEqual([200, 200])
    expect(answers.toLowerCase().split('http/1.1 200').at(-1)).toContain('connection: close')
    expect(await cli.gone).toEqual({ code: 0, signal: null })
  })

  test('says that nothing can ask for its health, where it has no listener', async () => {
    const folder = aFolder({ url: 'http://127.0.0.1:1' })
    const silent = startCli(['start', '--role', 'work'], { folder })
    await silent.untilLine('gateway.started')
    const told = () => silent.lines().filter(({ msg }) => String(msg).includes('no-health'))

    expect(told()).toMatchObject([{ roles: ['work'] }])
  })

  test('ends at once at the second signal', async () => {
    const sink = await startSink({ answer: () => 'hang' })
    // What hangs does not end by itself, while it is told to stop.
    const folder = aFolder({ url: sink.url, stopGraceMs: 60_000, timeoutMs: 50_000 })
    const cli = startCli(['start', '--port', '0'], { folder })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')
    expect(await deliver(port, 'evt_1')).toBe(200)
    await sink.untilRequests(1)

    cli.kill('SIGTERM')
    await cli.untilLine('gateway.stopping')
    cli.kill('SIGTERM')

    expect(await cli.gone).toEqual({ code: 1, signal: null })
  })

  test('reads its config again on SIGHUP, and keeps the one before where that cannot be used', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const folder = aFolder({ url: first.url })
    const cli = startCli(['start', '--port', '0'], { folder })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    writeConfig(folder, { url: 'not a url' })
    cli.kill('SIGHUP')
    await cli.untilLine('config.refused: the one before it stays')
    await deliver(port, 'evt_1')
    await first.untilRequests(1)
    writeConfig(folder, { url: second.url })
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')
    await deliver(port, 'evt_2')

    await second.untilRequests(1)
    expect(first.list()).toHaveLength(1)
  })

  test('logs at the level of the config that was read last, and refuses what only a new process can have', async () => {
    const sink = await startSink()
    const folder = aFolder({ url: sink.url, log: { level: 'info' } })
    const cli = startCli(['start', '--port', '0'], { folder })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    await deliver(port, 'evt_1')
    writeConfig(folder, { url: sink.url, receive: { bodyTimeoutMs: 60_000 } })
    cli.kill('SIGHUP')
    const refused = await cli.untilLine('config.refused: the one before it stays')
    writeConfig(folder, { url: sink.url, log: { level: 'debug' } })
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')
    await deliver(port, 'evt_2')

    expect(refused['reason']).toBe('receive.bodyTimeoutMs cannot be changed while it runs')
    const accepted = await cli.untilLine('delivery.accepted')
    expect(accepted['key']).toBe('evt_2')
  })

  test('D10: its log shows what a sender wrote, and lets none of it steer the terminal', async () => {
    const folder = aFolder({ url: 'http://127.0.0.1:1' })
    const env = { HOOKONCE_LOG__LEVEL: 'debug' }
    const cli = startCli(['start', '--port', '0'], { folder, env })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    const text = JSON.stringify({ id: 'evt_1', object: 'event', type: 'paid\u202e\u009b31m' })
    const { headers, body } = sign('stripe', { body: text }, { secret: SECRET })
    await fetch(`http://127.0.0.1:${port}/in/stripe`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
    })

    await until('its type is in the log', () => cli.output().includes('paid'))
    expect(cli.output()).toContain('paid\\u202e\\u009b31m')
    expect(cli.output()).not.toMatch(/[\u202e\u009b]/)
    expect(cli.lines().length).toBeGreaterThan(0)
  })

  test('a port that another process has is named with its setting', async () => {
    const folder = aFolder({ url: 'http://127.0.0.1:1' })
    const port = await portOf(startCli(['start', '--port', '0'], { folder }))

    const second = startCli(['start', '--port', String(port)], { folder })

    expect((await second.gone).code).toBe(2)
    expect(second.errors()).toContain(`receive.port: another process has the port ${port}`)
  })

  test('one that is told to stop before its database was there does not say that it started', async () => {
    const folder = aFolder({ url: 'http://127.0.0.1:1' })
    const env = { HOOKONCE_STORE: 'postgres://hookonce@127.0.0.1:1/none' }
    const cli = startCli(['start', '--port', '0'], { folder, env })
    await cli.untilLine('the store cannot be opened: deliveries are answered 503 until it can')

    cli.kill('SIGTERM')

    expect((await cli.gone).code).toBe(0)
    const said = cli.lines().map(({ msg }) => msg)
    expect(said).toContain('gateway.stopping')
    expect(said).not.toContain('gateway.started')
  })

  test('a reader of its output that has seen enough is no failure', async () => {
    const folder = aFolder({ url: 'http://127.0.0.1:1' })
    const cli = startCli(['config', 'schema'], { folder, reader: 'gone' })

    expect(await cli.gone).toEqual({ code: 0, signal: null })
    expect(cli.errors()).toBe('')
  })

  test('keeps its config while the file of it is gone, whatever the environment would do for one', async () => {
    const folder = aFolder({ url: 'https://example.com/' })
    const config = join(folder, 'hookonce.config.json')
    const env = { HOOKONCE_STORE: `sqlite:${join(folder, 'here.db')}` }
    const flags = ['start', '--role', 'receive', '--port', '0']
    const cli = startCli(flags, { folder, env })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    renameSync(config, `${config}.new`)
    cli.kill('SIGHUP')
    const decisions = () => cli.lines().filter(({ msg }) => String(msg).startsWith('config.'))
    await until('it has decided', () => decisions().length > 0)
    // The file is what is missing. Without it as the config, a relay, which needs no source, would go on with none.
    expect(decisions()).toMatchObject([
      {
        msg: 'config.refused: the one before it stays',
        reason: expect.stringContaining('hookonce.config.json') as string,
      },
    ])
    expect(await deliver(port, 'evt_1')).toBe(200)

    renameSync(`${config}.new`, config)
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')
    expect(await deliver(port, 'evt_2')).toBe(200)
  })

  test('refuses a config that cannot be used, with the code for usage', async () => {
    const folder = aFolder({ url: 'https://example.com/', provider: 'stirpe' })

    const cli = startCli(['start'], { folder })

    expect(await cli.gone).toEqual({ code: 2, signal: null })
    expect(cli.errors()).toContain('there is no provider "stirpe", did you mean "stripe"?')
    expect(cli.errors()).not.toContain(SECRET)
  })

  test('says what to do where the folder of its database cannot be made', async () => {
    const folder = aFolder({ url: 'https://example.com/' })
    writeFileSync(join(folder, 'data'), '')

    const cli = startCli(['start', '--port', '0', '--store', 'sqlite:data/x.db'], { folder })

    expect(await cli.gone).toEqual({ code: 2, signal: null })
    expect(cli.errors()).toMatch(/store: the folder \S+data cannot be made: EEXIST/)
    expect(cli.errors()).toContain('or postgres://')
  })

  test('ends where trying again cannot help', async () => {
    const folder = aFolder({ url: 'https://example.com/' })
    const file = join(folder, 'newer.db')
    const store = sqliteStore(file)
    await store.open()
    await store.close()
    const handle = (await openDriver('auto')).open(file)
    handle.execute('insert into hookonce_migrations values (1000, 0)')
    handle.close()

    const cli = startCli(['start', '--port', '0', '--store', 'sqlite:newer.db'], { folder })

    expect(await cli.gone).toEqual({ code: 1, signal: null })
    expect(cli.errors()).toContain('The schema is at version 1000')
  })

  test.skipIf(hasNoPostgres)(
    'R07: answers 503 while its database is away, says so, and goes on by itself when it is there',
    async () => {
      const config = await createEmptyPostgresDatabase()
      const folder = aFolder({ url: 'https://example.com/' })
      const proxy = new WireProxy(config)
      onTestFinished(() => proxy.close())
      const cli = startCli(['start', '--port', '0', '--store', proxy.url], { folder })
      const port = await portOf(cli)

      await cli.untilLine('the store cannot be opened: deliveries are answered 503 until it can')
      expect(await statusOf(port, 'readyz')).toBe(503)
      expect(await statusOf(port, 'healthz')).toBe(200)
      expect(await deliver(port, 'evt_1')).toBe(503)
      await proxy.listen()

      await cli.untilLine('gateway.started')
      expect(await deliver(port, 'evt_1')).toBe(200)
    },
  )

  test.skipIf(hasNoBinaries)(
    'R07: answers 503 while its database is stopped under it, in time and with Retry-After, and takes every retry when it is back',
    async () => {
      const server = await startPostgres()
      onTestFinished(() => server.dispose())
      const sink = await startSink()
      const folder = aFolder({ url: sink.url })
      const env = { HOOKONCE_RECEIVE__ANSWER_TIMEOUT_MS: '2000' }
      const store = postgresUrl(await createDatabaseOn(server.config))
      const cli = startCli(['start', '--port', '0', '--store', store], { folder, env })
      const port = await portOf(cli)
      await cli.untilLine('gateway.started')
      await until('evt_0 is taken', async () => (await deliver(port, 'evt_0')) === 200)

      await server.stop('immediate')
      const keys = Array.from({ length: 20 }, (_, index) => `evt_${index + 1}`)
      for (const key of keys) {
        const startedAt = performance.now()
        const { status, headers } = await post(port, key)
        const isInTime = performance.now() - startedAt < IN_TIME_MS
        const isTold = Number(headers.get('retry-after')) > 0
        expect({ key, status, isTold, isInTime }).toEqual({
          key,
          status: 503,
          isTold: true,
          isInTime: true,
        })
      }
      await until('it is not ready', async () => (await statusOf(port, 'readyz')) === 503)
      expect(await statusOf(port, 'healthz')).toBe(200)
      await startAgain(server)
      for (const key of keys)
        await until(`${key} is taken`, async () => (await deliver(port, key)) === 200)
      await until('all have arrived', () => idsOf(sink).size >= keys.length + 1)

      expect(await statusOf(port, 'readyz')).toBe(200)
      expect(idsOf(sink)).toEqual(new Set(['evt_0', ...keys]))
      expect([...sink.countEffects().values()].every((count) => count === 1)).toBe(true)
      const told = cli.lines().map(({ msg }) => msg)
      expect(told.filter((msg) => msg === 'store.unavailable')).toHaveLength(1)
      expect(told.filter((msg) => msg === 'store.available')).toHaveLength(1)
    },
  )
})

/** Not the time that it has for its answer, which a busy machine stretches: only not for ever. */
const IN_TIME_MS = 20_000

function idsOf(sink: Sink): ReadonlySet<string> {
  return new Set(sink.list().map(({ body }) => (JSON.parse(body) as { id: string }).id))
}

async function portOf(cli: CliProcess): Promise<number> {
  const { receive } = await cli.untilLine('gateway.listening')
  return (receive as { port: number }).port
}

async function statusOf(port: number, path: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/${path}`)).status
}

async function deliver(port: number, key: string): Promise<number | 'cut'> {
  try {
    return (await post(port, key)).status
  } catch {
    return 'cut'
  }
}

function post(port: number, key: string): Promise<Response> {
  const { headers, body } = sign('stripe', { key }, { secret: SECRET })
  return fetch(`http://127.0.0.1:${port}/in/stripe`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(body),
  })
}

interface Given {
  readonly url: string
  readonly provider?: string
  readonly log?: { readonly level: string }
  readonly receive?: { readonly bodyTimeoutMs: number }
  readonly stopGraceMs?: number
  /** How long the destination may take. */
  readonly timeoutMs?: number
}

function aFolder(given: Given): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeConfig(folder, given)
  return folder
}

function writeConfig(
  folder: string,
  { url, provider = 'stripe', timeoutMs = 15_000, ...others }: Given,
): void {
  const config = {
    stopGraceMs: 2_000,
    ...others,
    sources: { stripe: { provider, secrets: [SECRET], forward: ['app'] } },
    destinations: {
      app: { url, allowPrivate: true, unsigned: true, timeoutMs, retry: { firstMs: 100 } },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
}

async function isRefused(port: number): Promise<boolean> {
  try {
    const { socket } = await rawSender(port)
    socket.destroy()
    return false
  } catch {
    return true
  }
}
