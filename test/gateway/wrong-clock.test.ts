import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { until } from '../support/faults/until.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { startCli } from '../support/run-cli.ts'
import { createSettableClock, hasNoFaketime } from '../support/tools/wrong-clock.ts'

const SECRET = 'whsec_0123456789abcdef'

test.skipIf(hasNoPostgres || hasNoFaketime)(
  'R29: a gateway whose clock is wrong says so in its log, its metrics and its readiness, and takes what it has refused once the clock is right',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-clock-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const sources = { stripe: { provider: 'stripe', secrets: [SECRET] } }
    writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))
    const clock = createSettableClock()
    clock.set(600_000)
    const store = postgresUrl(await createPostgresDatabase())
    const args = ['start', '--port', '0', '--store', store]
    const cli = startCli(args, { folder, env: clock.env })
    const listening = await cli.untilLine('gateway.listening')
    const [receive, admin] = [listening['receive'], listening['admin']] as [Address, Address]
    await cli.untilLine('gateway.started')
    const { headers, body } = sign('stripe', { key: 'evt_1' }, { secret: SECRET })
    const deliver = async () =>
      (
        await fetch(`http://127.0.0.1:${receive.port}/in/stripe`, {
          method: 'POST',
          headers: headers as Record<string, string>,
          body: new Uint8Array(body),
        })
      ).status

    expect(await deliver()).toBe(401)
    expect(Number((await cli.untilLine('clock.skewed'))['skewMs'])).toBeCloseTo(600_000, -5)
    expect(await skewOf(admin.port)).toBeCloseTo(600, -2)
    expect(await readinessOf(receive.port)).toEqual([200, { status: 'degraded' }])
    expect(await readinessOf(admin.port)).toEqual([200, { status: 'degraded' }])

    clock.set(0)
    await until('it is ready', async () => {
      const [status, said] = await readinessOf(receive.port)
      return status === 200 && (said as { status: string }).status === 'ready'
    })

    expect(await deliver()).toBe(200)
    expect(await skewOf(admin.port)).toBeCloseTo(0, -1)
  },
)

interface Address {
  readonly port: number
}

async function readinessOf(port: number): Promise<readonly [number, unknown]> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`)
  return [response.status, await response.json()]
}

async function skewOf(port: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^hookonce_clock_skew_seconds (\S+)$/m.exec(page)?.[1])
}
