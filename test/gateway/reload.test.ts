import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { GatewayOptions } from '../../src/gateway/gateway.ts'
import type { Inbox, SourceMap } from '../../src/index.ts'
import { sign } from '../../src/testing/index.ts'
import { aSignal } from '../support/a-signal.ts'
import { until } from '../support/faults/until.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'

const SECRET = 'whsec_0123456789abcdef'
const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const STOPPING = { status: 'refused', reason: 'the gateway is stopping' }

describe('a gateway that takes over another config', () => {
  test('says so once deliveries go there, however long what has begun before takes; its own end waits for that', async () => {
    const [isRunning, isOver] = [aSignal(), aSignal()]
    const atLeastOnce = { guarantee: 'at-least-once', timeoutMs: 600_000 } as const
    const { gateway, config } = await start({
      prepare: (inbox) =>
        inbox.on('stripe', '*', atLeastOnce, async () => {
          isRunning.give()
          await isOver.given
        }),
    })
    await gateway.inbox.receive('stripe', sign('stripe', {}, { secret: SECRET }))
    await isRunning.given

    let isTold = false
    const reloaded = gateway.reload(config).finally(() => (isTold = true))
    await until('it is told', () => isTold)
    const stopped = gateway.stop().then(() => 'the gateway')
    await gateway.inbox.stop()
    const first = await Promise.race([stopped, pause(100, 'nothing')])
    isOver.give()

    expect(await reloaded).toEqual({ status: 'reloaded' })
    expect(first).toBe('nothing')
    await stopped
  })

  test.skipIf(hasNoPostgres)(
    'has started with it where it was still waiting for its database',
    async () => {
      const proxy = new WireProxy(await createPostgresDatabase())
      onTestFinished(() => proxy.close())
      const isWaiting = aSignal()
      const { gateway, config, started } = begin({
        store: proxy.url,
        logger: { ...QUIET, error: () => isWaiting.give() },
      })
      await isWaiting.given

      await proxy.listen()
      const reloaded = await (await gateway).reload(config)

      expect(reloaded).toEqual({ status: 'reloaded' })
      expect(await started).toBe(true)
      const delivery = sign('stripe', {}, { secret: SECRET })
      expect(await (await gateway).inbox.receive('stripe', delivery)).toMatchObject({ status: 200 })
    },
  )

  test('takes over none once it is told to stop, also not one that was prepared before', async () => {
    const inboxes: Inbox<SourceMap, unknown>[] = []
    const { gateway, config } = await start({ prepare: (inbox) => void inboxes.push(inbox) })
    const prepared = gateway.prepare(config)
    if (prepared.status === 'refused') throw new Error(prepared.reason)

    const stopped = gateway.stop()
    const refused = gateway.prepare(config)
    const taken = await prepared.take()
    await stopped

    expect(refused).toEqual(STOPPING)
    expect(taken).toEqual(STOPPING)
    expect(inboxes).toHaveLength(2)
    for (const inbox of inboxes)
      await expect(inbox.start()).rejects.toMatchObject({ code: 'INBOX_STOPPED' })
  })
})

type Given = Partial<Pick<GatewayOptions, 'prepare' | 'logger'>> & { readonly store?: string }

async function start(given: Given) {
  const { gateway, config, started } = begin(given)
  expect(await started).toBe(true)
  return { gateway: await gateway, config }
}

/** Listens, and opens its store when it can. */
function begin({ store = 'sqlite:hookonce.db', logger = QUIET, prepare }: Given) {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-reload-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = configSchema.parse({
    store,
    roles: ['receive', 'work', 'relay'],
    receive: { port: 0 },
    stopGraceMs: 600_000,
    sources: { stripe: { provider: 'stripe', secrets: [SECRET] } },
  })
  const gateway = startGateway({ config, folder, logger, ...(prepare && { prepare }) })
  onTestFinished(async () => (await gateway).stop())
  return { gateway, config, started: gateway.then((one) => one.untilStarted()) }
}
