import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { LIBSQL_VERSION } from '../../src/cli/dev/install-sqlite.ts'
import type { DeliveryHeaders } from '../../src/model/delivery.ts'
import { standardWebhooks } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { createEmptyPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { startCli, triggerUntilRan } from '../support/run-cli.ts'
import type { CliProcess } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'

describe('hookonce dev', () => {
  test('needs nothing in an empty folder, and says what becomes of each delivery', async () => {
    const folder = aFolder()
    const dev = startCli(['dev', '--port', '0'], { folder })
    const { port } = new URL(await urlOf(dev, 'demo'))

    const args = ['demo', 'order.paid', '--id', 'evt_1', '--times', '10', '--parallel']
    const { output, runs } = await triggerUntilRan([...args, '--port', port], { folder })
    expect(output).toContain('10 deliveries, 1 event, handler ran 1 time')

    await dev.untilText('done in ')
    const lines = tailOf(dev)
    expect(lines.filter((line) => line.includes('200 accepted'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes('200 duplicate'))).toHaveLength(10 * runs - 1)
    expect(lines.filter((line) => line.includes('handler got {"type":"order.paid"'))).toHaveLength(
      1,
    )
    expect(lines.filter((line) => line.includes('done in '))).toHaveLength(1)
    // No terminal: no colours, and no keys.
    expect(dev.output()).not.toContain('\x1b')
    expect(dev.output()).toContain('Stop with Ctrl-C.')
  })

  test('keeps what it makes out of a repository, and its secret from others', async () => {
    const folder = aFolder()
    const first = startCli(['dev', '--port', '0'], { folder })
    await urlOf(first, 'demo')
    const kept = readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')
    first.kill('SIGTERM')
    expect(await first.gone).toEqual({ code: 0, signal: null })

    await urlOf(startCli(['dev', '--port', '0'], { folder }), 'demo')

    expect(readFileSync(join(folder, '.hookonce/.gitignore'), 'utf8')).toBe('*\n')
    expect(statSync(join(folder, '.hookonce/dev.json')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')).toBe(kept)
    expect(first.output()).not.toContain(secretOf(folder))
  })

  test('says why a delivery was refused, and shows no text of a stranger as it is', async () => {
    const folder = aFolder()
    const dev = startCli(['dev', '--port', '0'], { folder })
    const url = await urlOf(dev, 'demo')

    await post(url, { secret: `whsec_${'A'.repeat(32)}`, type: 'forged' })
    await post(url, { secret: secretOf(folder), type: 'paid\x1b[2J\u202e' })
    await fetch(url.replace('/in/demo', '/in/dmeo'), { method: 'POST' })

    await dev.untilText('401 refused: ')
    await dev.untilText('404 there is no such source')
    await dev.untilText('done in ')
    expect(dev.output()).toContain('paid\\u001b[2J\\u202e')
    expect(tailOf(dev).find((line) => line.includes('401 refused: '))).toContain('signature')
    expect(dev.output()).not.toMatch(/[\x1b\u202e]/)
  })

  test('uses a config that is there', async () => {
    const folder = aFolder()
    const sources = { stripe: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } }
    writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))

    const dev = startCli(['dev', '--port', '0', '--demo'], { folder })

    await urlOf(dev, 'stripe')
    expect(dev.output().split('\n')[0]).toBe('10 deliveries, 1 event, handler ran 1 time')
    expect(dev.output()).not.toContain('/in/demo')
  })

  test('takes the next port where another program has the one that is wanted, and says so', async () => {
    const taken = await listen()

    const dev = startCli(['dev', '--port', String(taken)], { folder: aFolder() })

    const { port } = new URL(await urlOf(dev, 'demo'))
    await dev.untilText(`Port ${taken} is taken by another program.`)
    await dev.untilText(`trigger demo order.paid --port ${port}`)
    const readiness = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
    await expect.poll(readiness).toBe(200)
  })

  test('names the port that is taken, also where it is that of the admin listener', async () => {
    const taken = await listen()
    const args = ['dev', '--port', '0', '--admin-port', String(taken)]

    const dev = startCli(args, { folder: aFolder() })

    await urlOf(dev, 'demo')
    const admin = /admin +http:\/\/127\.0\.0\.1:(\d+)/.exec(dev.output())?.[1]
    expect(dev.output()).toContain(`Port ${taken} is taken by another program.`)
    expect(Number(admin)).toBeGreaterThan(taken)
  })

  test('--forward keeps what its target does not take, and delivers it once the target is back, also when it was killed meanwhile', async () => {
    const sink = await startSink({ answer: () => 'cut' })
    const folder = aFolder()
    const args = ['dev', '--port', '0', '--forward', sink.url]
    // What it was sending when it was killed waits for so long.
    const env = { HOOKONCE_RELAY__LEASE_MS: '16000' }
    const dev = startCli(args, { folder, env })
    const url = await urlOf(dev, 'demo')

    await post(url, { secret: secretOf(folder), type: 'order.paid' })
    await dev.untilText('waits for dev-forward: ')
    dev.kill('SIGKILL')
    await dev.gone
    const again = startCli(args, { folder, env })
    await again.untilText('waits for dev-forward: ')
    sink.answerWith(() => ({ status: 200 }))

    await again.untilText('delivered to dev-forward in ')
    // Of an event that this process has not received, the line has the source and the type all the same.
    const delivered = tailOf(again).find((line) => line.includes('delivered to dev-forward'))
    expect(delivered).toMatch(/demo +order\.paid +delivered/)
    const effects = [...sink.countEffects().values()]
    expect(effects).toEqual([1])
  })

  test('--forward signs with a secret that it shows, and has again the next time', async () => {
    const sink = await startSink()
    const folder = aFolder()
    const args = ['dev', '--port', '0', '--forward', sink.url]
    const dev = startCli(args, { folder })
    const url = await urlOf(dev, 'demo')

    await post(url, { secret: secretOf(folder), type: 'order.paid' })
    await sink.untilRequests(1)

    const secret = readFileSync(join(folder, '.hookonce/forward.secret'), 'utf8').trim()
    expect(dev.output()).toContain(`\n  ${secret}\n`)
    const { headers, body } = sink.list()[0]!
    const verdict = await standardWebhooks({ secrets: [secret] }).verify({
      method: 'POST',
      url: '/',
      headers: headers as DeliveryHeaders,
      body: Buffer.from(body),
      receivedAt: new Date(),
    })
    expect(verdict).toMatchObject({ ok: true })
    dev.kill('SIGTERM')
    await dev.gone
    const again = startCli(args, { folder })
    await again.untilText(secret)
  })

  test('says what to do where its own file cannot be read', async () => {
    const folder = aFolder()
    mkdirSync(join(folder, '.hookonce'))
    writeFileSync(join(folder, '.hookonce/dev.json'), '{')

    const dev = startCli(['dev', '--port', '0'], { folder })

    expect(await dev.gone).toEqual({ code: 2, signal: null })
    expect(dev.errors()).toContain('.hookonce/dev.json cannot be read')
    expect(dev.errors()).toContain('Mend it, or remove it')
  })

  test('says what to do where it cannot keep anything', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, '.hookonce'), '')

    const dev = startCli(['dev', '--port', '0'], { folder })

    expect(await dev.gone).toEqual({ code: 2, signal: null })
    expect(dev.errors()).toContain('.hookonce cannot be written to: EEXIST')
    expect(dev.errors()).toContain('run it in a folder that is yours')
  })

  test('--forward refuses what is no URL', async () => {
    const dev = startCli(['dev', '--forward', 'localhost:3000'], { folder: aFolder() })

    expect(await dev.gone).toEqual({ code: 2, signal: null })
    expect(dev.errors()).toContain('http://localhost:3000/webhooks')
  })

  test.skipIf(hasNoPostgres)(
    'says in one line what it tried while its database is away, answers 503, and goes on by itself',
    async () => {
      const folder = aFolder()
      const config = await createEmptyPostgresDatabase()
      const proxy = new WireProxy(config)
      onTestFinished(() => proxy.close())
      const dev = startCli(['dev', '--port', '0', '--store', proxy.url], { folder })
      const url = await urlOf(dev, 'demo')
      await dev.untilText('The store cannot be opened: deliveries are answered 503 until it can.')
      const delivered = { secret: secretOf(folder), type: 'order.paid' }

      expect(await post(url, delivered)).toBe(503)
      await dev.untilText('503 unavailable: ')
      await proxy.listen()
      await dev.untilText('The store is open: deliveries are taken.')
      expect(await post(url, delivered)).toBe(200)

      await dev.untilText('done in ')
      const told = dev.output().split('\n')
      const tried = told.filter((line) => line.includes('The store cannot be opened'))
      expect(tried).toHaveLength(1)
      expect(tried[0]).toContain('ENOENT')
      expect(tried[0]).not.toContain('password')
    },
  )
})

test('the SQLite that it installs is the one that is tested with', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>
  }

  expect(LIBSQL_VERSION).toBe(manifest.devDependencies['libsql'])
})

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** From the banner, when all of it is there. */
async function urlOf(dev: CliProcess, source: string): Promise<string> {
  await dev.untilText('Stop with Ctrl-C.')
  const url = new RegExp(`http://\\S+/in/${source}\\b`).exec(dev.output())?.[0]
  if (url === undefined) throw new Error(`No URL of ${source} in:\n${dev.output()}`)
  return url
}

function tailOf(dev: CliProcess): readonly string[] {
  return dev
    .output()
    .split('\n')
    .filter((line) => /^\d\d:\d\d:\d\d /.test(line))
}

function secretOf(folder: string): string {
  const { sources } = JSON.parse(readFileSync(join(folder, '.hookonce/dev.json'), 'utf8')) as {
    sources: { demo: { secrets: [string] } }
  }
  return sources.demo.secrets[0]
}

async function post(
  url: string,
  { secret, type }: { readonly secret: string; readonly type: string },
): Promise<number> {
  const body = { type, data: {} }
  const { headers, body: bytes } = sign('standardWebhooks', { body }, { secret })
  const { status } = await fetch(url, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(bytes),
  })
  return status
}

async function listen(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
