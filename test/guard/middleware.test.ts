import express from 'express'
import { describe, expect, test } from 'vitest'
import { COMPLETE } from '../../src/guard/scripts.ts'
import { aSignal } from '../support/a-signal.ts'
import { aDelivery, aGuardedApp } from '../support/redis/guarded-app.ts'
import {
  hasNoRedis,
  hasNoRedisServer,
  openRedis,
  startOwnRedis,
  watchScripts,
} from '../support/redis/open-redis.ts'

describe.skipIf(hasNoRedis)('the middleware', () => {
  test('lets an event through to the route once, and answers a duplicate as the first', async () => {
    const seen: unknown[] = []
    const app = await aGuardedApp((guard) => (request, response) => {
      const { event, idempotencyKey } = guard.delivered('stripe', request)
      seen.push([event.key, event.type, event.payload.id, idempotencyKey().length])
      response.status(201).json({ charged: event.key })
    })
    const delivery = aDelivery('evt_1')

    const answers = [await app.post('stripe', delivery), await app.post('stripe', delivery)]

    expect(seen).toEqual([['evt_1', 'invoice.paid', 'evt_1', 46]])
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers.map(({ headers }) => headers.get('content-type'))).toEqual([
      'application/json; charset=utf-8',
      'application/json; charset=utf-8',
    ])
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { charged: 'evt_1' },
      { charged: 'evt_1' },
    ])
    expect(app.happened).toEqual(['guard.done', 'guard.duplicate'])
  })

  test('verifies over the raw bytes, and sends nothing to Redis for what is forged', async () => {
    let scripts = 0
    let runs = 0
    const redis = await openRedis()
    const client = watchScripts(redis.client, (_sha1, send) => ((scripts += 1), send()))
    const app = await aGuardedApp(() => () => (runs += 1), { redis, client })
    const delivery = aDelivery('evt_1')

    const forged = await app.post('stripe', { ...delivery, body: Buffer.from('{"id":"evt_1"}') })

    expect(forged.status).toBe(401)
    expect([scripts, runs, await app.countKeys()]).toEqual([0, 0, 0])
    expect(app.happened).toEqual(['delivery.refused'])
  })

  test.each([500, 404, 302])('gives the lease back when the route answers %s', async (status) => {
    let runs = 0
    const app = await aGuardedApp(() => (_request, response) => {
      runs += 1
      response.status(runs === 1 ? status : 204).end()
    })
    const delivery = aDelivery('evt_1')
    const post = async () => (await app.post('stripe', delivery)).status

    expect([await post(), await post(), await post()]).toEqual([status, 204, 204])
    expect(runs).toBe(2)
    expect(app.happened).toEqual(['guard.failed', 'guard.done', 'guard.duplicate'])
  })

  test('gives the lease back when the route throws, and the framework answers', async () => {
    let runs = 0
    const app = await aGuardedApp(() => () => {
      runs += 1
      throw Object.assign(new Error('declined'), { status: 502, expose: true })
    })
    const delivery = aDelivery('evt_1')

    const answers = [await app.post('stripe', delivery), await app.post('stripe', delivery)]

    expect(answers.map(({ status }) => status)).toEqual([502, 502])
    expect(runs).toBe(2)
    expect(await app.countKeys()).toBe(0)
  })

  // A busy event is not a duplicate: if its runner dies, this sender must still have it.
  test('answers 503 with Retry-After while another delivery runs', async () => {
    const running = aSignal()
    const go = aSignal()
    let runs = 0
    const app = await aGuardedApp(() => async (_request, response) => {
      runs += 1
      running.give()
      await go.given
      response.sendStatus(200)
    })
    const delivery = aDelivery('evt_1')

    const first = app.post('stripe', delivery)
    await running.given
    const second = await app.post('stripe', delivery)
    go.give()

    expect(second.status).toBe(503)
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await first).status).toBe(200)
    expect(runs).toBe(1)
  })

  test('holds the answer back until the mark is kept, however the route writes it', async () => {
    const redis = await openRedis()
    const marking = aSignal()
    const go = aSignal()
    const client = watchScripts(redis.client, async (sha1, send) => {
      if (sha1 !== COMPLETE.sha1) return send()
      marking.give()
      await go.given
      return send()
    })
    const app = await aGuardedApp(
      () => (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' })
        response.flushHeaders()
        response.write('do')
        response.end('ne')
      },
      { redis, client },
    )
    let answered = false

    const first = app.post('stripe', aDelivery('evt_1'))
    void first.then(() => (answered = true))
    await marking.given
    // Another exchange with the same server: an answer that was let out early would be here by now.
    await app.post('stripe', { ...aDelivery('evt_2'), body: Buffer.from('forged') })
    const answeredBeforeMark = answered
    go.give()

    expect(await (await first).text()).toBe('done')
    expect(answeredBeforeMark).toBe(false)
  })

  test('says of a body that was parsed before it who did it', async () => {
    let runs = 0
    const app = await aGuardedApp(() => () => (runs += 1), { before: [express.json()] })

    const answer = await app.post('stripe', aDelivery('evt_1'))

    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({
      error: 'body_parsed',
      hint: expect.stringContaining("guard.middleware('stripe')") as string,
    })
    expect(runs).toBe(0)
    expect(app.happened).toEqual(['delivery.body-parsed', 'delivery.answered'])
  })

  test('reports a duplicate key with other content, and does not run it', async () => {
    let runs = 0
    const app = await aGuardedApp(() => (_request, response) => {
      runs += 1
      response.sendStatus(200)
    })

    await app.post('stripe', aDelivery('evt_1', { id: 'evt_1', type: 'a', amount: 1 }))
    await app.post('stripe', aDelivery('evt_1', { id: 'evt_1', type: 'a', amount: 2 }))

    expect(runs).toBe(1)
    expect(app.happened).toEqual(['guard.done', 'guard.conflict'])
  })

  test('of a request with several events hands on those that are not done', async () => {
    const seen: (readonly string[])[] = []
    const app = await aGuardedApp((guard) => (request, response) => {
      seen.push(guard.delivered('lists', request).events.map(({ key }) => key))
      response.sendStatus(200)
    })

    const answers = [
      await app.post('lists', aDelivery('', ['a', 'b'])),
      await app.post('lists', aDelivery('', ['a', 'c', 'c', 'b', 'd'])),
      await app.post('lists', aDelivery('', ['d', 'a'])),
      await app.post('lists', aDelivery('', [])),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(seen).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    expect(await app.countKeys()).toBe(4)
  })

  test('of a request with several events marks none when the route fails, and none while one is running', async () => {
    const running = aSignal()
    const go = aSignal()
    const app = await aGuardedApp((guard) => async (request, response) => {
      const { events } = guard.delivered('lists', request)
      if (events.length > 1) return response.sendStatus(500)
      running.give()
      await go.given
      return response.sendStatus(200)
    })

    const failing = await app.post('lists', aDelivery('', ['a', 'b']))
    expect([failing.status, await app.countKeys()]).toEqual([500, 0])
    const first = app.post('lists', aDelivery('', ['b']))
    await running.given
    const second = await app.post('lists', aDelivery('', ['a', 'b']))
    expect([second.status, await app.countKeys()]).toEqual([503, 1])
    go.give()

    expect((await first).status).toBe(200)
  })

  test('refuses a verified event without a key, so that its sender keeps it', async () => {
    let runs = 0
    const app = await aGuardedApp(() => () => (runs += 1))

    const answer = await app.post('lists', aDelivery('', ['a', null]))

    expect(answer.status).toBe(503)
    expect([runs, await app.countKeys()]).toEqual([0, 0])
    expect(app.happened).toEqual(['guard.refused'])
  })

  test('R61: refuses a delivery with more events than it may have, so that its sender keeps it', async () => {
    let runs = 0
    const app = await aGuardedApp(() => () => (runs += 1), { receive: { eventsMax: 2 } })
    const reasons: string[] = []
    app.guard.events.on('guard.refused', ({ reason }) => reasons.push(reason))

    const answer = await app.post('lists', aDelivery('', ['a', 'b', 'c']))

    expect(answer.status).toBe(503)
    expect([runs, await app.countKeys()]).toEqual([0, 0])
    expect(reasons).toEqual(['too many events'])
  })

  test('gives nothing to a request that did not come through it', async () => {
    const { guard } = await aGuardedApp(() => () => undefined)

    expect(() => guard.delivered('stripe', {})).toThrow("guard.middleware('stripe')")
  })

  test('marks the event of a sender that has hung up', async () => {
    const running = aSignal()
    const go = aSignal()
    const app = await aGuardedApp(() => async (_request, response) => {
      running.give()
      await go.given
      response.sendStatus(200)
    })
    const done = new Promise((resolve) => app.guard.events.on('guard.done', resolve))
    const hangUp = new AbortController()
    const delivery = aDelivery('evt_1')

    const first = app.post('stripe', delivery, hangUp.signal)
    await running.given
    hangUp.abort()
    await expect(first).rejects.toThrow()
    go.give()
    await done

    expect((await app.post('stripe', delivery)).status).toBe(200)
    expect(app.happened).toEqual(['guard.done', 'guard.duplicate'])
  })
})

describe.skipIf(hasNoRedisServer)('the middleware without Redis', () => {
  test('answers 503 and keeps the route from running', async () => {
    const server = await startOwnRedis()
    const redis = await openRedis('redis', server.address)
    let runs = 0
    const app = await aGuardedApp(() => () => (runs += 1), { redis, commandTimeoutMs: 200 })
    await server.stop()

    const answer = await app.post('stripe', aDelivery('evt_1'))

    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(runs).toBe(0)
    expect(app.happened).toEqual(['delivery.unavailable'])
  })

  test('answers 200 for work that is done when Redis goes away, since it is done', async () => {
    const server = await startOwnRedis()
    const redis = await openRedis('redis', server.address)
    const app = await aGuardedApp(
      () => async (_request, response) => {
        await server.stop()
        response.sendStatus(200)
      },
      { redis, commandTimeoutMs: 1_500, leaseMs: 4_000 },
    )

    const answer = await app.post('stripe', aDelivery('evt_1'))

    expect(answer.status).toBe(200)
    expect(app.happened).toEqual(['guard.unmarked'])
  })
})
