import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/gateway/admin/routes.ts'
import { sign } from '../../src/testing/index.ts'
import { exchange } from '../support/exchange.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'
import { startCli } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'

/** In no answer, line or row may one of these be. */
const CANARIES = {
  source: 'whsec_canary-of-a-source',
  destination: 'whsec_canary-of-a-destination',
  header: 'canary-of-a-header',
  admin: 'canary-of-an-admin',
  basic: 'canary-of-a-sender',
}

describe.skipIf(hasNoPostgres)('the secrets of a gateway', () => {
  test('D09, S01: are in none of its answers, logs, metrics, commands, and in no row of its database', async () => {
    const sink = await startSink({ answer: () => ({ status: 500 }) })
    const database = await createPostgresDatabase()
    const folder = aFolder(sink.url)
    const store = postgresUrl(database)
    const env = { HOOKONCE_ADMIN__TOKEN: CANARIES.admin, HOOKONCE_LOG__LEVEL: 'debug' }
    const cli = startCli(['start', '--port', '0', '--store', store], { folder, env })
    const { receive, admin } = await cli.untilLine('gateway.listening')
    const [receiveUrl, adminUrl] = [receive, admin].map(
      (address) => `http://127.0.0.1:${(address as { port: number }).port}`,
    ) as [string, string]
    await cli.untilLine('gateway.started')

    const said: string[] = []
    const ask: typeof exchange = async (...asked) => {
      const answer = await exchange(...asked)
      said.push(JSON.stringify(answer.headers), answer.body.toString())
      return answer
    }
    const credentials = { authorization: `Basic ${btoa(`sender:${CANARIES.basic}`)}` }
    const { headers, body } = sign('stripe', { key: 'evt_1' }, { secret: CANARIES.source })
    const text = Buffer.from(body).toString()
    const deliveries = [
      await ask(receiveUrl, 'POST', '/in/stripe', {
        text,
        headers: { ...(headers as Record<string, string>), ...credentials },
      }),
      await ask(receiveUrl, 'POST', '/in/stripe', { text, headers: credentials }),
      await ask(receiveUrl, 'POST', '/in/nosuch', { text, headers: credentials }),
    ]
    await sink.untilRequests(1)
    const eventId = String(deliveries[0]?.json['event'])
    const authorization = `Bearer ${CANARIES.admin}`
    for (const { method, path } of Object.values(ROUTES)) {
      const filled = `/api/v1${path.replace(/\{.+?\}/g, eventId)}`
      await ask(adminUrl, method, filled, { body: {}, headers: { authorization } })
    }
    await ask(adminUrl, 'POST', '/api/v1/login', { body: { token: CANARIES.admin } })
    await ask(adminUrl, 'POST', '/api/v1/login', { body: { token: `${CANARIES.admin}?` } })
    await ask(adminUrl, 'GET', '/metrics', { headers: { authorization } })
    const commands = ['config print', `events show ${eventId} --full --json`, 'doctor', 'sources']
    for (const words of commands) {
      const command = startCli(
        [...words.split(' '), ...(words === 'config print' ? [] : ['--store', store])],
        { folder, env },
      )
      await command.gone
      said.push(command.output(), command.errors())
    }
    cli.kill('SIGTERM')
    await cli.gone

    expect(deliveries.map(({ status }) => status)).toEqual([200, 401, 404])
    const everything = [...said, cli.output(), cli.errors(), ...(await listRows(database))]
    expect(everything.some((each) => each.includes('evt_1'))).toBe(true)
    for (const canary of Object.values(CANARIES))
      for (const spelling of [canary, btoa(`sender:${canary}`)])
        expect(everything.filter((each) => each.includes(spelling))).toEqual([])
  })
})

/** What a dump of the database would hold, a text for each row. Bytes are written as text too. */
async function listRows(database: Parameters<typeof postgresUrl>[0]): Promise<readonly string[]> {
  const pool = newPool(database)
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name
       from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<Record<string, unknown>>(`select * from ${name}`)
    texts.push(...rows.map((row) => Object.values(row).map(asText).join(' ')))
  }
  return texts
}

function asText(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)
}

function aFolder(url: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-canaries-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = {
    sources: { stripe: { provider: 'stripe', secrets: [CANARIES.source], forward: ['app'] } },
    destinations: {
      app: {
        url,
        allowPrivate: true,
        secrets: [CANARIES.destination],
        headers: { 'x-api-key': CANARIES.header },
      },
    },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  return folder
}
