import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { until } from '../support/faults/until.ts'
import { findFreePort } from '../support/postgres/start-postgres.ts'
import { rawSender } from '../support/raw-exchange.ts'
import { startCli } from '../support/run-cli.ts'
import type { CliProcess } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'
import { hasNoSmallDisk, mountSmallDisk } from '../support/tools/small-disk.ts'

const SECRET = 'whsec_0123456789abcdef'
const FILES_MAX = 64
/** Their lines are more than a pipe, and the memory for lines that wait, can hold. */
const FLOOD = 800

/** Linux has a command that sets the limits of a process that runs. */
const hasNoLimits = process.platform !== 'linux'
if (hasNoLimits)
  console.warn('\n*** Only on Linux: the test without file descriptors is SKIPPED. ***\n')

describe('a gateway that its machine gives too little', () => {
  test.skipIf(hasNoLimits)(
    'S08: without file descriptors it turns senders away, does not end, and takes deliveries again when there are some',
    async () => {
      const sink = await startSink()
      const cli = startCli(['start', '--port', '0'], { folder: aFolder(sink) })
      const port = await portOf(cli)
      await cli.untilLine('gateway.started')
      // Not from its start on: from its source it is hundreds of files, which are opened all at once.
      limitFiles(cli.pid, FILES_MAX)
      const first = await deliver(port, 'evt_first')

      // Each holds a descriptor, for as long as its sender has not sent its headers.
      const held = await Promise.all(Array.from({ length: 2 * FILES_MAX }, () => rawSender(port)))
      for (const { write } of held) write('POST /in/stripe HTTP/1.1\r\n')
      const turnedAway = await Promise.race(held.map(({ closed }) => closed))
      const meanwhile = await Promise.all(
        Array.from({ length: 20 }, (_, nth) => deliver(port, `evt_${nth}`)),
      )
      for (const { socket } of held) socket.destroy()
      await until('it takes deliveries', async () => (await deliver(port, 'evt_last')) === 200)
      const taken = ['evt_first', 'evt_last', ...listTaken(meanwhile)]
      await until('all that was answered has arrived', () => {
        const arrived = new Set(idsOf(sink))
        return taken.every((key) => arrived.has(key))
      })

      expect(first).toBe(200)
      expect(turnedAway).toBe('')
      expect(meanwhile.filter((status) => ![200, 503, 'no answer'].includes(status))).toEqual([])
      cli.kill('SIGTERM')
      expect(await cli.gone).toEqual({ code: 0, signal: null })
    },
  )

  test('S07: with a log that is not read it receives as before, and says later how many lines are missing', async () => {
    const sink = await startSink()
    const env = { HOOKONCE_LOG__LEVEL: 'debug' }
    const cli = startCli(['start', '--port', '0'], { folder: aFolder(sink), env })
    const port = await portOf(cli)
    await cli.untilLine('gateway.started')

    cli.stopReading()
    const statuses = await flood(port, FLOOD)
    await sink.untilRequests(FLOOD)
    cli.goOnReading()
    await deliver(port, 'evt_last')
    const { lines } = await cli.untilLine('log.dropped')

    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(lines).toBeGreaterThan(0)
  })

  test.skipIf(hasNoSmallDisk)(
    'S07: with a log on a disk that is full it receives as before, and says how many lines are missing when there is room again',
    async () => {
      const sink = await startSink()
      const disk = mountSmallDisk(1 << 20)
      const log = join(disk.dir, 'log')
      writeFileSync(log, '')
      const port = await findFreePort()
      const env = { HOOKONCE_LOG__LEVEL: 'debug' }
      const cli = startCli(['start', '--port', String(port)], { folder: aFolder(sink), env, log })
      await until('it has started', () => readFileSync(log, 'utf8').includes('gateway.started'))

      disk.fill()
      const statuses = await flood(port, 50)
      await sink.untilRequests(50)
      disk.free()
      await deliver(port, 'evt_last')
      await until('the log goes on', () => readFileSync(log, 'utf8').includes('log.dropped'))

      expect(new Set(statuses)).toEqual(new Set([200]))
      cli.kill('SIGTERM')
      expect(await cli.gone).toEqual({ code: 0, signal: null })
      // The line before the gap may be cut off, and none after it is.
      const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
      const after = lines.slice(lines.findIndex((line) => line.includes('log.dropped')))
      expect(after.filter((line) => !isJson(line))).toEqual([])
      expect(after.at(-1)).toContain('gateway.stopped')
    },
  )
})

function limitFiles(pid: number, count: number): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${count}:${count}`])
}

type Status = number | 'no answer'

/** Ten at once. */
async function flood(port: number, count: number): Promise<readonly Status[]> {
  const statuses: Status[] = []
  let nth = 0
  const sendOn = async (): Promise<void> => {
    while (nth < count) statuses.push(await deliver(port, `evt_${nth++}`))
  }
  await Promise.all(Array.from({ length: 10 }, sendOn))
  return statuses
}

async function deliver(port: number, key: string): Promise<Status> {
  const { headers, body } = sign('stripe', { key }, { secret: SECRET })
  try {
    const { status } = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
    })
    return status
  } catch {
    return 'no answer'
  }
}

function listTaken(statuses: readonly Status[]): readonly string[] {
  return statuses.flatMap((status, nth) => (status === 200 ? [`evt_${nth}`] : []))
}

function idsOf(sink: Sink): readonly string[] {
  return sink.list().map(({ body }) => (JSON.parse(body) as { id: string }).id)
}

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

function aFolder({ url }: Sink): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-starved-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = {
    store: 'sqlite:hookonce.db',
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: {
      app: {
        url,
        allowPrivate: true,
        unsigned: true,
        retry: { firstMs: 100, factor: 1, attemptsMax: 1_000 },
        breakerMs: 200,
      },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  return folder
}

async function portOf(cli: CliProcess): Promise<number> {
  const { receive } = await cli.untilLine('gateway.listening')
  return (receive as { port: number }).port
}
