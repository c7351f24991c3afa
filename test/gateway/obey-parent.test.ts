import cluster from 'node:cluster'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { OrderName, Report } from '../../src/gateway/processes/orders.ts'
import { sign } from '../../src/testing/index.ts'
import { bundleCommand } from '../support/faults/bundle-program.ts'
import { until } from '../support/faults/until.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { startSink } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'

/** Its parent is this process: one of ours drops a config half a minute after it has asked for it. */
test.skipIf(hasNoPostgres)(
  'a child that is still reading a config when it is dropped takes over the one that it is asked for next',
  async () => {
    const [first, dropped, last] = [await startSink(), await startSink(), await startSink()]
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-child-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeConfig(folder, first.url)
    const { port, order } = await startChild(folder)

    writeConfig(folder, dropped.url, WAITING)
    const late = order('prepare')
    await until('it is reading', () => existsSync(join(folder, 'reading')))
    expect(await order('drop')).toBeUndefined()
    writeConfig(folder, last.url)
    expect(await order('prepare')).toBeUndefined()
    writeFileSync(join(folder, 'go-on'), '')
    expect(await late).toBe('it was dropped before it was read')
    expect(await order('take')).toBeUndefined()
    // In use by now, it is nothing that could be dropped.
    expect(await order('drop')).toBeUndefined()

    expect(await deliver(port)).toBe(200)
    await last.untilRequests(1)
    expect([...first.list(), ...dropped.list()]).toEqual([])
  },
)

/** Before a config in code is there. */
const WAITING = `
import { existsSync, writeFileSync } from 'node:fs'
writeFileSync('reading', '')
while (!existsSync('go-on')) await new Promise((resolve) => setTimeout(resolve, 10))
`

function writeConfig(folder: string, url: string, before = ''): void {
  const config = {
    stopGraceMs: 2_000,
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: { app: { url, allowPrivate: true, unsigned: true, retry: { firstMs: 100 } } },
  }
  const text = `${before}\nexport default ${JSON.stringify(config)}\n`
  writeFileSync(join(folder, 'hookonce.config.mjs'), text)
}

async function startChild(folder: string) {
  const store = postgresUrl(await createPostgresDatabase())
  cluster.setupPrimary({
    exec: bundleCommand(),
    args: ['start', '--processes', '2', '--port', '0', '--store', store],
    cwd: folder,
    execArgv: [],
    silent: true,
  })
  const ours = Object.keys(process.env).filter((name) => name.startsWith('HOOKONCE_'))
  const child = cluster.fork({
    ...Object.fromEntries(ours.map((name) => [name, undefined])),
    NODE_OPTIONS: '',
    HOOKONCE_ADMIN__PORT: '0',
  })
  onTestFinished(() => void child.process.kill('SIGKILL'))
  let hasStarted = false
  let number = 0
  let port = 0
  const answers = new Map<number, (refusal: string | undefined) => void>()
  child.on('listening', (address) => (port ||= address.port))
  child.on('message', (message: Report) => {
    if (message.report === 'started') hasStarted = true
    if (message.report === 'answer') answers.get(message.number)?.(message.refusal)
  })
  await until('it has started', () => hasStarted)
  return {
    port,
    order: (name: OrderName) => {
      number += 1
      const answer = new Promise<string | undefined>((resolve) => answers.set(number, resolve))
      child.send({ order: name, number })
      return answer
    },
  }
}

async function deliver(port: number): Promise<number> {
  const { headers, body } = sign('stripe', {}, { secret: SECRET })
  const response = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(body),
  })
  return response.status
}
