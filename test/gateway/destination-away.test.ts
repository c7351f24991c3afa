import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/gateway/open-store.ts'
import { createInbox, httpDestination } from '../../src/index.ts'
import { sign } from '../../src/testing/index.ts'
import { ENGINES } from '../support/faults/fault-database.ts'
import { until } from '../support/faults/until.ts'
import { Child } from '../support/gateway/child.ts'
import { readArrivals } from '../support/gateway/destination-process.ts'
import { createPostgresDatabase } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { startCli } from '../support/run-cli.ts'

const SECRET = 'whsec_0123456789abcdef'
const DESTINATION = fileURLToPath(
  new URL('../support/gateway/destination-process.ts', import.meta.url),
)
const CUSTOMERS = ['cus_a', 'cus_b', 'cus_c']

describe.each(ENGINES)('a gateway on %s', (engine) => {
  test('a destination that is down or paused keeps its events, shows them, and gets each once, in order for each customer', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-away-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const arrivals = join(folder, 'arrivals.jsonl')
    const first = await startDestination(folder, 0)
    const store =
      engine === 'sqlite' ? 'sqlite:hookonce.db' : postgresUrl(await createPostgresDatabase())
    writeConfig(folder, { store, port: first.port })
    const cli = startCli(['start', '--port', '0'], { folder })
    const { receive } = await cli.untilLine('gateway.listening')
    const { port } = receive as { port: number }
    await cli.untilLine('gateway.started')
    const admin = await openAdmin(folder, { store, port: first.port })
    const waiting = async () => [
      ...(await admin.listMessages({ state: 'ready' })).messages,
      ...(await admin.listMessages({ state: 'sending' })).messages,
    ]
    const deliverEach = async (...numbers: readonly number[]): Promise<void> => {
      for (const number of numbers) await deliver(port, `evt_${number}`, CUSTOMERS[number % 3]!)
      await until('all are kept', async () => (await waiting()).length === numbers.length)
    }

    await first.child.kill()
    await deliverEach(...Array.from({ length: 12 }, (_, index) => index))
    const shown = await waiting()
    await startDestination(folder, first.port)
    await until('all have arrived', () => readArrivals(arrivals).length >= 12)
    await until('none waits', async () => (await waiting()).length === 0)
    await admin.pause({ destination: 'app' })
    await deliverEach(12, 13)
    const whilePaused = readArrivals(arrivals).length
    await admin.resume({ destination: 'app' })
    await until('the others have arrived', () => readArrivals(arrivals).length >= whilePaused + 2)

    expect(new Set(shown.map(({ lane }) => lane)).size).toBe(3)
    const effects = readArrivals(arrivals).filter(({ hadEffect }) => hadEffect)
    expect(effects.slice(0, 12)).toHaveLength(12)
    expect(whilePaused).toBe(readArrivals(arrivals).length - 2)
    const numbers = effects.map(({ key }) => Number(key.slice('evt_'.length)))
    for (const customer of [0, 1, 2])
      expect(numbers.filter((number) => number % 3 === customer)).toEqual(
        Array.from({ length: 14 }, (_, index) => index).filter((index) => index % 3 === customer),
      )
  }, 300_000)
})

/** Where the events are, and where they are to go. */
interface Places {
  readonly store: string
  readonly port: number
}

async function startDestination(folder: string, port: number) {
  const child = new Child(DESTINATION, [String(port), join(folder, 'arrivals.jsonl')], folder)
  onTestFinished(() => child.kill())
  return { child, port: Number.parseInt(await child.untilWritten(/^\d+\n/), 10) }
}

/** A process that only looks. */
async function openAdmin(folder: string, { store: url, port }: Places) {
  const { store, close } = openStore(url, folder)
  const inbox = createInbox({
    store,
    sources: {},
    destinations: [
      httpDestination('app', { url: `http://127.0.0.1:${port}/`, allow: ['127.0.0.1'] }),
    ],
    worker: false,
    relay: false,
  })
  await inbox.start()
  onTestFinished(async () => {
    await inbox.stop()
    await close()
  })
  return inbox.admin
}

function writeConfig(folder: string, { store, port }: Places): void {
  const config = {
    store,
    sources: {
      stripe: {
        provider: 'stripe',
        secrets: [SECRET],
        forward: [{ to: 'app', lane: 'json:$.data.object.customer' }],
      },
    },
    destinations: {
      app: {
        url: `http://127.0.0.1:${port}/`,
        allowPrivate: true,
        unsigned: true,
        retry: { firstMs: 100, factor: 1, attemptsMax: 1_000 },
        breakerMs: 200,
      },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
}

async function deliver(port: number, key: string, customer: string): Promise<void> {
  const event = { key, body: { id: key, data: { object: { customer } } } }
  const { headers, body } = sign('stripe', event, { secret: SECRET })
  const { status } = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(body),
  })
  expect(status).toBe(200)
}
