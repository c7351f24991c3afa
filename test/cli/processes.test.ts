import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { until } from '../support/faults/until.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { startCli } from '../support/run-cli.ts'
import type { CliProcess } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'

test('several processes on SQLite are refused, with why and what to do', async () => {
  const folder = aFolder()
  writeConfig(folder, { url: 'https://example.com/' })

  const cli = startCli(['start', '--processes', '2'], { folder })

  expect(await cli.gone).toEqual({ code: 2, signal: null })
  expect(cli.errors()).toContain('SQLite lets one process write at a time')
})

test.each([
  ['receive.port', 'HOOKONCE_RECEIVE__PORT'],
  // Only the first of them has an admin listener.
  ['admin.port', 'HOOKONCE_ADMIN__PORT'],
])('all processes end where %s is taken, and say so', async (setting, variable) => {
  const sink = await startSink()
  const folder = aFolder()
  writeConfig(folder, { url: sink.url })
  // They listen before they look for it.
  const store = 'postgres://hookonce@127.0.0.1:1/none'
  const env = { HOOKONCE_RECEIVE__PORT: '0', [variable]: String(sink.port) }

  const cli = startCli(['start', '--processes', '2', '--store', store], { folder, env })

  expect(await cli.gone).toEqual({ code: 2, signal: null })
  expect(cli.errors()).toContain(`${setting}: another process has the port ${sink.port}`)
})

/** Three processes start, and one of them again. */
const STARTING = { timeout: 300_000 }

describe.skipIf(hasNoPostgres)('hookonce start --processes 2', STARTING, () => {
  test('one that is killed under load is started again, and SIGTERM drains all: nothing is lost or doubled', async () => {
    const sink = await startSink()
    const { cli, port, pids } = await startTwo(sink)
    const answered: string[] = []
    let isOver = false
    const load = [1, 2].map(async (sender) => {
      for (let index = 0; !isOver; index += 1) {
        const key = `evt_${sender}_${index}`
        // As a sender does: again, until it is taken.
        while ((await deliver(port, key)) !== 200 && !isOver);
        if (!isOver) answered.push(key)
      }
    })
    await sink.untilRequests(10)

    process.kill(pids[0]!, 'SIGKILL')
    await cli.untilLine('process.died')
    await until('another has started', () => startsOf(cli).length === 2)
    const before = answered.length
    await until('deliveries are answered', () => answered.length > before + 10)
    isOver = true
    await Promise.all(load)
    await until(
      'all have arrived',
      () => {
        const arrived = new Set(idsOf(sink))
        return answered.every((key) => arrived.has(key))
      },
      { everyMs: 200 },
    )
    cli.kill('SIGTERM')

    expect(await cli.gone).toEqual({ code: 0, signal: null })
    expect([...sink.countEffects().values()].every((count) => count === 1)).toBe(true)
    expect(sink.listMixedKeys()).toEqual([])
    expect(startsOf(cli).flat().filter(isAlive)).toEqual([])
  })

  test('SIGHUP gives all of them another config, or none', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const { cli, port, pids, folder } = await startTwo(first)

    writeConfig(folder, { url: 'not a url' })
    cli.kill('SIGHUP')
    await cli.untilLine('config.refused: the one before it stays')
    await deliverMany(port, 'before', 6)
    await first.untilRequests(6)
    writeConfig(folder, { url: second.url, level: 'debug' })
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')
    await deliverMany(port, 'after', 6)
    await second.untilRequests(6)
    await cli.untilLine('delivery.accepted')

    expect(new Set(idsOf(first))).toEqual(new Set(listKeys('before', 6)))
    expect(pids.filter(isAlive)).toEqual(pids)
  })

  test('a config that is refused after another one was taken over leaves that one in use', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const { cli, port, pids, folder } = await startTwo(first)
    writeConfig(folder, { url: second.url })
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')

    writeConfig(folder, { url: 'not a url' })
    cli.kill('SIGHUP')
    await cli.untilLine('config.refused: the one before it stays')
    for (const pid of pids) await standingStill(pid, () => deliverMany(port, `beside_${pid}`, 3))
    await second.untilRequests(6)

    expect(first.list()).toEqual([])
    expect(pids.filter(isAlive)).toEqual(pids)
  })

  test('a config that none of them can take over, with the database away, is refused, and all go on', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const proxy = await WireProxy.start(await createPostgresDatabase())
    onTestFinished(() => proxy.close())
    const { cli, port, pids, folder } = await startGroup(first, { store: proxy.url })
    writeConfig(folder, { url: second.url })

    proxy.cutOff()
    cli.kill('SIGHUP')
    await until('it is decided', () => decisionsOf(cli).length === 1)
    const [decision] = decisionsOf(cli)
    proxy.restore()
    await until('it is taken', async () => (await deliver(port, 'evt_1')) === 200)
    await first.untilRequests(1)

    expect(decision).toMatchObject({
      msg: 'config.refused: the one before it stays',
      reason: expect.stringContaining('Cannot use PostgreSQL') as string,
    })
    expect(pids.filter(isAlive)).toEqual(pids)
    expect(cli.output()).not.toContain('gateway.stopping')
  })

  test('those that alone cannot take over a config are replaced one after the other, and the log says why', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const proxy = await WireProxy.start(await createPostgresDatabase())
    onTestFinished(() => proxy.close())
    const { cli, port, folder } = await startGroup(first, { store: proxy.url, count: 3 })
    writeConfig(folder, { url: second.url })

    // What a store asks when it is opened.
    for (let time = 0; time < 2; time += 1)
      proxy.arm({ matches: /server_version_num/, fault: 'drop-before' })
    cli.kill('SIGHUP')
    await cli.untilLine('config.reloaded')
    const turns = () =>
      cli
        .lines()
        .map(({ msg }) => msg)
        .filter((msg) => msg === 'process.died' || msg === 'processes.started')
    const areBothDead = () => linesOf(cli, 'process.died').length === 2
    await until('both were replaced', () => areBothDead() && turns().at(-1) !== 'process.died')
    await deliverMany(port, 'after', 6)
    await second.untilRequests(6)

    const told = cli.lines().filter(({ msg }) => String(msg).startsWith('config.not-taken'))
    expect(told).toMatchObject(
      [1, 2].map(() => ({ reason: expect.stringContaining('Cannot use PostgreSQL') as string })),
    )
    expect(turns()).toEqual([
      'processes.started',
      ...['process.died', 'processes.started'],
      ...['process.died', 'processes.started'],
    ])
    expect(first.list()).toEqual([])
  })

  test('one that is told to stop, and is not gone yet, refuses no config', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const receive = { withdrawMs: 3_600_000 }
    const { cli, pids, folder } = await startGroup(first, { receive })
    process.kill(pids[0]!, 'SIGTERM')
    await cli.untilLine('gateway.stopping')

    writeConfig(folder, { url: second.url, receive })
    cli.kill('SIGHUP')
    await until('it is decided', () => decisionsOf(cli).length === 1)

    expect(decisionsOf(cli)).toMatchObject([{ msg: 'config.reloaded' }])
    expect(pids.filter(isAlive)).toEqual(pids)
  })

  test('a config that comes after SIGTERM is refused', async () => {
    const sink = await startSink()
    const { cli } = await startGroup(sink, { receive: { withdrawMs: 3_600_000 } })
    cli.kill('SIGTERM')
    await until('all stop', () => linesOf(cli, 'gateway.stopping').length === 3)

    cli.kill('SIGHUP')
    await until('it is decided', () => decisionsOf(cli).length === 1)

    expect(decisionsOf(cli)).toMatchObject([{ reason: 'the processes are stopping' }])
  })

  test('one that dies is not replaced by one with a config that was refused', async () => {
    const sink = await startSink()
    const { cli, port, pids, folder } = await startTwo(sink)
    writeConfig(folder, { url: sink.url, provider: 'stirpe' })

    process.kill(pids[0]!, 'SIGKILL')
    const { reason } = await cli.untilLine('process.not-started: the config cannot be used')
    expect(reason).toContain('did you mean "stripe"?')
    expect(await deliver(port, 'evt_1')).toBe(200)
    writeConfig(folder, { url: sink.url })

    await until('another has started', () => startsOf(cli).length === 2)
  })

  test('its metrics have what all of them count, and keep what one that was killed had counted', async () => {
    const sink = await startSink()
    const { cli, port, pids } = await startTwo(sink)
    const [first, second] = pids as [number, number]
    const counts = async () => {
      const page = await metricsOf(cli)
      return [ACCEPTED, ACKNOWLEDGED, SETTLED].map((series) => valueOf(page, series))
    }

    // One that stands still takes no connection: so each of them gets some.
    await standingStill(first, () => deliverMany(port, 'to-second', 3))
    await standingStill(second, () => deliverMany(port, 'to-first', 4))
    await expect.poll(counts).toEqual([7, 7, 7])
    expect(valueOf(await metricsOf(cli), 'hookonce_ready')).toBe(1)
    for (const [index, pid] of pids.entries()) {
      process.kill(pid, 'SIGKILL')
      await until('another has started', () => startsOf(cli).length === index + 2)
      expect(await counts()).toEqual([7, 7, 7])
    }
    await deliverMany(port, 'after', 2)

    await expect.poll(counts).toEqual([9, 9, 9])
  })

  test('the second signal ends all of them at once', async () => {
    const sink = await startSink({ answer: () => 'hang' })
    const { cli, port, pids } = await startTwo(sink, ENDLESS)
    expect(await deliver(port, 'evt_1')).toBe(200)
    await sink.untilRequests(1)

    cli.kill('SIGTERM')
    await cli.untilLine('gateway.stopping')
    cli.kill('SIGTERM')

    expect(await cli.gone).toEqual({ code: 1, signal: null })
    await until('no child is left', () => !pids.some(isAlive))
  })
})

type Times = Partial<typeof BRIEF>

async function startTwo(sink: Sink, times: Times = {}) {
  return startGroup(sink, { times })
}

interface GroupTerms {
  readonly store?: string
  readonly count?: number
  readonly receive?: object
  readonly times?: Times
}

async function startGroup(sink: Sink, { store, count = 2, receive: limits, times }: GroupTerms) {
  const folder = aFolder()
  writeConfig(folder, { url: sink.url, ...times, ...(limits && { receive: limits }) })
  const place = store ?? postgresUrl(await createPostgresDatabase())
  const flags = ['--processes', String(count), '--port', '0', '--store', place]
  const cli = startCli(['start', ...flags], { folder })
  const { receive } = await cli.untilLine('gateway.listening')
  await cli.untilLine('processes.started')
  // A parent that is killed at the end of a test takes its children with it.
  return { cli, folder, port: (receive as { port: number }).port, pids: startsOf(cli)[0]! }
}

const BRIEF = { stopGraceMs: 2_000, timeoutMs: 1_000, leaseMs: 3_000 }
/** What hangs does not end by itself, while it is told to stop. */
const ENDLESS = { stopGraceMs: 60_000, timeoutMs: 50_000, leaseMs: 60_000 }

const ACCEPTED = 'hookonce_deliveries_total{source="stripe",outcome="accepted"}'
const ACKNOWLEDGED = 'hookonce_ack_seconds_count{source="stripe"}'
const SETTLED = 'hookonce_events_settled_total{source="stripe",state="done"}'

/** Of the one that has the admin listener now: another one may have a new port. */
async function metricsOf(cli: CliProcess): Promise<string> {
  const listening = cli.lines().filter(({ msg, admin }) => msg === 'gateway.listening' && admin)
  const { port } = listening.at(-1)?.['admin'] as { port: number }
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(response.status).toBe(200)
  return response.text()
}

function valueOf(page: string, series: string): number | undefined {
  const line = page.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

async function standingStill(pid: number, act: () => Promise<void>): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  try {
    await act()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

/** The ids of the children, each time that all of them had started. */
function startsOf(cli: CliProcess): readonly (readonly number[])[] {
  // The log has a line for each event, and is looked at often.
  return [...cli.output().matchAll(/^.*"msg":"processes\.started".*$/gm)].map(
    ([line]) => (JSON.parse(line) as { pids: number[] }).pids,
  )
}

function linesOf(cli: CliProcess, message: string): readonly Record<string, unknown>[] {
  return cli.lines().filter(({ msg }) => msg === message)
}

/** What became of each SIGHUP. */
function decisionsOf(cli: CliProcess): readonly Record<string, unknown>[] {
  return cli.lines().filter(({ msg }) => /^config\.(reloaded|refused)/.test(String(msg)))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function idsOf(sink: Sink): readonly string[] {
  return sink.list().map(({ body }) => (JSON.parse(body) as { id: string }).id)
}

function listKeys(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}_${index}`)
}

async function deliverMany(port: number, name: string, count: number): Promise<void> {
  const statuses = await Promise.all(listKeys(name, count).map((key) => deliver(port, key)))
  expect(statuses).toEqual(statuses.map(() => 200))
}

async function deliver(port: number, key: string): Promise<number | 'cut'> {
  const { headers, body } = sign('stripe', { key }, { secret: SECRET })
  try {
    const response = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
      method: 'POST',
      // Each on a connection of its own, so that more than one child gets some.
      headers: { ...(headers as Record<string, string>), connection: 'close' },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(30_000),
    })
    return response.status
  } catch {
    return 'cut'
  }
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-processes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function writeConfig(
  folder: string,
  {
    url,
    provider = 'stripe',
    level = 'info',
    receive = {},
    ...times
  }: {
    readonly url: string
    readonly provider?: string
    readonly level?: string
    readonly receive?: object
  } & Times,
): void {
  const { stopGraceMs, timeoutMs, leaseMs } = { ...BRIEF, ...times }
  const config = {
    receive,
    log: { level },
    stopGraceMs,
    relay: { leaseMs },
    sources: { stripe: { provider, secrets: [SECRET], forward: ['app'] } },
    destinations: {
      app: { url, allowPrivate: true, unsigned: true, timeoutMs, retry: { firstMs: 100 } },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
}
