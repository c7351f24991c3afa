import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { AdminServerOptions } from '../../src/gateway/admin/admin-server.ts'
import { livePage, LiveStreams } from '../../src/gateway/admin/live.ts'
import { loginPages } from '../../src/gateway/admin/login.ts'
import { createToken, findToken } from '../../src/gateway/admin/tokens.ts'
import { EVENT_ACTIONS } from '../../src/model/event-action.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { exchange } from '../support/exchange.ts'
import type { Asked } from '../support/exchange.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { startAdmin } from '../support/through-gateway.ts'

const CONFIG_TOKEN = 'the-token-of-the-config'
const sqlite = sqliteUnderTest('libsql')

function tokenTests(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a token that was made`, () => {
    test('opens what its role may, until it is revoked', async () => {
      const { ask, tokens } = await start(underTest)
      const { token } = await made(tokens, { name: 'ci', role: 'operator' })

      expect((await ask('GET', '/api/v1/pauses', as(token))).status).toBe(200)
      expect((await ask('POST', '/api/v1/prune', { body: {}, ...as(token) })).json['code']).toBe(
        'ROLE_TOO_LOW',
      )
      await tokens.revoke('ci', undefined)
      expect((await ask('GET', '/api/v1/pauses', as(token))).json['code']).toBe('ACCESS_DENIED')
    })

    test('Y07: of a viewer releases nothing, and runs, discards or forgets nothing: it is answered 403', async () => {
      const { ask, tokens, opened } = await start(underTest)
      const { inbox, deliver } = opened
      const { eventId: first } = await deliver('evt_1')
      const { eventId } = await deliver('evt_1', { amount: 2 })
      const viewer = await made(tokens, { name: 'reads', role: 'viewer' })
      const operator = await made(tokens, { name: 'acts', role: 'operator' })
      const body = { reason: 'a correction' }

      for (const id of [eventId, first])
        for (const action of EVENT_ACTIONS) {
          const path = `/api/v1/events/${id}/${action}`
          expect(await ask('POST', path, { body, ...as(viewer.token) }), path).toMatchObject({
            status: 403,
            json: { code: 'ROLE_TOO_LOW' },
          })
        }
      expect(await inbox.admin.findEvent(eventId ?? '')).toMatchObject({ state: 'conflict' })
      expect(await inbox.admin.listAudit({ eventId: eventId ?? '' })).toEqual([])
      const shown = await ask('GET', `/api/v1/events/${eventId}`, as(viewer.token))
      expect(shown.json).toMatchObject({ difference: { differences: [{ change: 'changed' }] } })

      const path = `/api/v1/events/${eventId}/release`
      expect(await ask('POST', path, { body, ...as(operator.token) })).toMatchObject({
        status: 200,
        json: { status: 'done', state: 'ready' },
      })
      expect(await inbox.admin.listAudit({ eventId: eventId ?? '' })).toMatchObject([
        { action: 'release', actor: 'acts', ...body },
      ])
    })

    test('opens nothing once its time is over', async () => {
      const { ask, tokens } = await start(underTest)
      const { token } = await made(tokens, { name: 'ci', role: 'admin', lifetimeMs: -1 })

      expect((await ask('GET', '/api/v1/pauses', as(token))).status).toBe(401)
    })
  })
}

tokenTests(sqlite)
const shared = inject('postgres')
describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared !== null) tokenTests(postgresUnderTest('PostgreSQL', () => shared))
})

describe('tokens', () => {
  test('S01: are in no file of the database, and their hashes are', async () => {
    const { tokens, opened } = await start(sqlite)
    const { token } = await made(tokens, { name: 'ci', role: 'viewer' })
    const [main] = await opened.database.query('pragma database_list')
    const file = String(main?.['file'])

    const bytes = ['', '-wal'].map((suffix) => readFileSync(`${file}${suffix}`).toString('latin1'))

    expect(bytes.join('')).not.toContain(token.slice(4))
    expect(bytes.join('')).toContain('createToken')
  })

  test.each(['', 'admin', 'CI', 'a/b', 'x'.repeat(61)])('are not called %j', async (name) => {
    const { tokens } = await start(sqlite)

    await expect(createToken(tokens, { name, role: 'viewer' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      option: 'token.name',
    })
  })

  test('have names of their own', async () => {
    const { tokens } = await start(sqlite)
    await made(tokens, { name: 'ci', role: 'viewer' })

    expect(await createToken(tokens, { name: 'ci', role: 'admin' })).toEqual({
      status: 'name-taken',
    })
  })
})

describe('a session', () => {
  test('D03: stands for its token, and changes nothing without its request token', async () => {
    const { ask, opened } = await start(sqlite)
    const login = await ask('POST', '/api/v1/login', { body: { token: CONFIG_TOKEN } })
    const [setCookie = ''] = login.headers['set-cookie'] ?? []
    const cookie = setCookie.split(';')[0] ?? ''
    const body = { target: { source: 'stripe' } }

    const session = await ask('GET', '/api/v1/session', { headers: { cookie } })
    const without = await ask('POST', '/api/v1/pauses', { body, headers: { cookie } })
    const wrong = await ask('POST', '/api/v1/pauses', {
      body,
      headers: { cookie, 'x-hookonce-request-token': 'guessed' },
    })
    expect(await opened.inbox.admin.listPauses()).toEqual([])
    const right = await ask('POST', '/api/v1/pauses', {
      body,
      headers: { cookie, 'x-hookonce-request-token': String(login.json['requestToken']) },
    })

    expect(setCookie).toMatch(/; HttpOnly; SameSite=Strict$/)
    expect(session.json).toEqual(login.json)
    expect([without.status, wrong.status, right.status]).toEqual([403, 403, 200])
    expect(await opened.inbox.admin.listAudit()).toMatchObject([{ actor: 'admin' }])
  })

  test('ends by a logout, by its time, and with its token', async () => {
    const { ask, tokens, clock } = await start(sqlite)
    const { token } = await made(tokens, { name: 'ada', role: 'viewer' })
    const begin = async (said: string) => {
      const { headers, json } = await ask('POST', '/api/v1/login', { body: { token: said } })
      const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
      return { cookie, 'x-hookonce-request-token': String(json['requestToken']) }
    }
    const [left, late, revoked] = [
      await begin(CONFIG_TOKEN),
      await begin(CONFIG_TOKEN),
      await begin(token),
    ]

    const logout = await ask('POST', '/api/v1/logout', { body: {}, headers: left })
    await tokens.revoke('ada', undefined)
    const before = await ask('GET', '/api/v1/session', { headers: late })
    const [afterLogout, afterRevoke] = [
      await ask('GET', '/api/v1/session', { headers: left }),
      await ask('GET', '/api/v1/session', { headers: revoked }),
    ]
    clock.now += 12 * 3_600_000
    const after = await ask('GET', '/api/v1/session', { headers: late })

    expect([logout.status, before.status]).toEqual([200, 200])
    expect([afterLogout.status, afterRevoke.status, after.status]).toEqual([401, 401, 401])
  })

  test('D07: is not guessed: the eleventh attempt of a minute has to wait, also with the right token, unless that was made', async () => {
    const { ask, clock, tokens } = await start(sqlite)
    const attempt = (token: string) => ask('POST', '/api/v1/login', { body: { token } })
    const failed = await Promise.all(Array.from({ length: 30 }, (_, nth) => attempt(`no ${nth}`)))

    const locked = await attempt(CONFIG_TOKEN)
    const own = await attempt((await made(tokens, { name: 'ada', role: 'viewer' })).token)
    const elsewhere = await ask('GET', '/api/v1/pauses', as(CONFIG_TOKEN))
    clock.now += 60_000
    const later = await attempt(CONFIG_TOKEN)

    expect(failed.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(failed.filter(({ status }) => status === 429)).toHaveLength(20)
    expect(locked).toMatchObject({ status: 429, json: { code: 'ATTEMPTS_EXCEEDED' } })
    expect(locked.headers['retry-after']).toBe('60')
    expect([own.status, elsewhere.status, later.status]).toEqual([200, 200, 200])
  })

  test('D07: nor is the token of the config, and a token that was made is not kept waiting', async () => {
    const { ask, clock, tokens, warned } = await start(sqlite)
    const made = await createToken(tokens, { name: 'ci', role: 'viewer' })
    const guess = (token: string) => ask('GET', '/api/v1/pauses', as(token))
    const statuses: (number | undefined)[] = []
    for (let nth = 0; nth < 12; nth += 1) statuses.push((await guess(`no-${nth}`)).status)

    const right = await guess(CONFIG_TOKEN)
    const own = await guess(made.status === 'created' ? made.token : '')
    clock.now += 60_000
    const later = await guess(CONFIG_TOKEN)

    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
    expect(right).toMatchObject({ status: 429, json: { code: 'ATTEMPTS_EXCEEDED' } })
    expect(right.headers['retry-after']).toBe('60')
    expect([own.status, later.status]).toEqual([200, 200])
    expect(warned).toEqual(['admin.locked-out'])
  })
})

describe('a live stream', () => {
  test('tells what happens, as it happens, with errors as their name and message', async () => {
    const { happenings, openStream, streams } = await startLive()
    const stream = await openStream()

    happenings.emit('store.unavailable', { error: new TypeError('gone\n\nevent: forged') })
    streams.beat()

    await stream.until(': heartbeat')
    expect(stream.text()).toContain(
      'id: 1\nevent: store.unavailable\ndata: {"error":{"name":"TypeError","message":"gone\\n\\nevent: forged"}}\n\n',
    )
    expect(stream.text()).toContain(': heartbeat\n\n')
  })

  test('tells of an error without the secret that is in its message', async () => {
    const { happenings, openStream, streams } = await startLive()
    const stream = await openStream()
    const error = new Error('postgres://app:canary@db.internal/hooks cannot be reached')

    happenings.emit('store.unavailable', { error })
    streams.beat()

    await stream.until(': heartbeat')
    expect(stream.text()).toContain('postgres://[redacted]@db.internal/hooks cannot be reached')
    expect(stream.text()).not.toContain('canary')
  })

  test('of a client that does not read is cut off, and another one goes on', async () => {
    const { happenings, openStream, streams } = await startLive()
    const slow = await openStream()
    slow.socket.pause()
    const reading = await openStream()
    let sent = 0

    // What the kernel takes for the client is not ours to bound, and has an end.
    while (streams.size === 2 && sent < 30_000) {
      for (let nth = 0; nth < 100; nth += 1, sent += 1)
        happenings.emit('store.warning', { warning: 'x'.repeat(1_000) })
      await reading.until(`id: ${sent}\n`)
    }

    expect(streams.size).toBe(1)
  })

  test('is refused when there are too many, and ends with its token', async () => {
    const { openStream, streams, allowed, url } = await startLive()
    const opened = await Promise.all(Array.from({ length: 32 }, () => openStream()))

    const refused = await exchange(url, 'GET', '/api/v1/live', as(CONFIG_TOKEN))
    allowed.now = false
    streams.beat()
    await Promise.all(opened.map(({ ended }) => ended))

    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('15')
    expect(streams.size).toBe(0)
  })

  test('ends with the session that it was opened in', async () => {
    const { openStream, server, streams, url } = await startLive({ checksAccess: true })
    server.add(loginPages(server.access))
    const login = await exchange(url, 'POST', '/api/v1/login', { body: { token: CONFIG_TOKEN } })
    const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const stays = await openStream()
    const stream = await openStream(`cookie: ${cookie}`)
    const headers = { cookie, 'x-hookonce-request-token': String(login.json['requestToken']) }

    await exchange(url, 'POST', '/api/v1/logout', { body: {}, headers })
    streams.beat()
    await stream.ended

    expect(streams.size).toBe(1)
    await stays.until(': heartbeat')
  })
})

function as(token: string): { readonly headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}` } }
}

async function made(...given: Parameters<typeof createToken>): Promise<{ readonly token: string }> {
  const created = await createToken(...given)
  if (created.status !== 'created') throw new Error('the name is taken')
  return created
}

async function start(underTest: StoreUnderTest) {
  const opened = await openInbox(underTest)
  const clock = { now: 1_790_000_000_000 }
  const now = () => clock.now
  const { tokens } = opened.store
  const options: Partial<AdminServerOptions> = {
    token: CONFIG_TOKEN,
    findToken: (hash) => findToken(tokens, hash),
    now,
  }
  const warned: string[] = []
  const warn = (_fields: object, message: string) => void warned.push(message)
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} }
  const { url, server } = await startAdmin({
    operator: () => opened.inbox.admin,
    logger,
    ...options,
  })
  server.add(loginPages(server.access))
  return { opened, tokens, clock, warned, ask: (...asked: Asked) => exchange(url, ...asked) }
}

async function startLive({ checksAccess = false } = {}) {
  const opened = await openInbox(sqlite)
  const happenings = new HappeningEmitter()
  const streams = new LiveStreams()
  onTestFinished(() => streams.stop())
  streams.watch(happenings)
  const allowed = { now: true }
  const { url, server } = await startAdmin({
    operator: () => opened.inbox.admin,
    token: CONFIG_TOKEN,
  })
  server.add([
    livePage(streams, async (principal) =>
      checksAccess ? server.access.isStillKnown(principal) : allowed.now,
    ),
  ])
  return {
    happenings,
    streams,
    allowed,
    server,
    url,
    openStream: (credentials?: string) => openStream(Number(new URL(url).port), credentials),
  }
}

/** On a socket of our own, so that what is read is ours to decide. */
async function openStream(port: number, credentials = `authorization: Bearer ${CONFIG_TOKEN}`) {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let received = ''
  let onData: () => void = () => undefined
  socket.setEncoding('utf8').on('data', (text: string) => {
    received = (received + text).slice(-100_000)
    onData()
  })
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('end', () => socket.end()).on('error', () => undefined)
  const until = async (words: string): Promise<void> => {
    while (!received.includes(words)) await new Promise<void>((resolve) => (onData = resolve))
  }
  socket.write(
    `GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${credentials}\r\n\r\n`,
  )
  await until(': connected')
  return { socket, until, ended, text: () => received.replace(/\r\n[0-9a-f]+\r\n/g, '') }
}
