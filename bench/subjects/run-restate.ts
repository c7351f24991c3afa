import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { serveBare } from './bare-server.ts'
import { effectOf } from './drain-config.ts'
import type { RunConfig } from './receive-config.ts'
import { importPeer, runSubject } from './subject.ts'

/** The members of Restate's SDK that are used here. */
interface RestateSdk {
  service(definition: {
    name: string
    handlers: Record<string, (context: Context, event: { id: string }) => Promise<void>>
  }): unknown
  createEndpointHandler(options: {
    services: unknown[]
    logger: () => void
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void
}
interface Context {
  run(name: string, action: () => Promise<void>): Promise<void>
}

const NODE_NAME = 'bench'
const BOOT_MS = 60_000

/**
 * Restate behind a bare server: each request is handed to its server with the event's id as idempotency key, and
 * answered when that has accepted it. The handler writes its row in a step, on a connection of a pool. The server has
 * every default but its sockets, which are files instead of fixed ports.
 */
runSubject<RunConfig>(async ({ postgres, poolMax }) => {
  const sdk = await importPeer<RestateSdk>('@restatedev/restate-sdk')
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  let done = 0
  const events = sdk.service({
    name: 'events',
    handlers: {
      run: async (context, { id }) => {
        await context.run('write', async () => {
          const { text, values } = effectOf('row', id)
          await pool.query(text, values)
        })
        done += 1
      },
    },
  })
  const endpoint = createServer(sdk.createEndpointHandler({ services: [events], logger: () => {} }))
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  const { port } = endpoint.address() as AddressInfo
  const restate = startRestate()
  try {
    await restate.register(`http://127.0.0.1:${port}`)
    await serveBare(
      ({ id, body }) => restate.send('/events/run/send', id, body),
      () => ({ done }),
    )
  } finally {
    await restate.stop()
    endpoint.close()
    await pool.end()
  }
})

function startRestate() {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-restate-'))
  const child = spawn(findServer(), ['--node-name', NODE_NAME, '--base-dir', folder], {
    env: { ...process.env, RESTATE_LISTEN_MODE: 'unix', RESTATE_LOG_FILTER: 'error' },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const post = (socket: string, path: string, headers: Record<string, string>, body: Buffer) =>
    new Promise<number>((resolve, reject) => {
      const call = request(
        {
          agent,
          socketPath: join(folder, NODE_NAME, socket),
          path,
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'content-length': body.byteLength,
            ...headers,
          },
        },
        (response) => {
          response.resume()
          response.on('end', () => resolve(response.statusCode ?? 0))
        },
      )
      call.on('error', reject)
      call.end(body)
    })
  return {
    async register(uri: string): Promise<void> {
      const body = Buffer.from(JSON.stringify({ uri }))
      const giveUpAt = performance.now() + BOOT_MS
      for (;;) {
        const status = await post('admin.sock', '/deployments', {}, body).catch(() => 0)
        if (status >= 200 && status < 300) return
        if (performance.now() > giveUpAt || child.exitCode !== null)
          throw new Error(`Restate's server did not take the service (${status})`)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    },
    async send(path: string, key: string, body: Buffer): Promise<void> {
      const status = await post('ingress.sock', path, { 'idempotency-key': key }, body)
      if (status !== 200 && status !== 202) throw new Error(`Restate answered ${status}`)
    },
    async stop(): Promise<void> {
      agent.destroy()
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The binary for this machine, which npm has as a package of its own. */
function findServer(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`
  return createRequire(import.meta.url).resolve(`${name}/bin/restate-server`)
}
