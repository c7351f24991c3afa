import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createGuard } from '../../src/guard/index.ts'
import { fetchHandler } from '../../src/http/fetch.ts'
import { honoHandler } from '../../src/http/frameworks/hono.ts'
import { createReceiver } from '../../src/http/node.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { SILENT } from '../support/redis/guard-under-test.ts'
import { aDelivery, SIGNED_SOURCES } from '../support/redis/guarded-app.ts'
import { freshPrefix, hasNoRedis, openRedis } from '../support/redis/open-redis.ts'

async function aSigningGuard() {
  const { client } = await openRedis()
  return createGuard({
    redis: client,
    sources: SIGNED_SOURCES,
    prefix: freshPrefix(),
    logger: SILENT,
  })
}

function toRequest({ headers, body }: Delivery, url = 'http://localhost/webhooks'): Request {
  return new Request(url, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: Buffer.from(body),
  })
}

describe.skipIf(hasNoRedis)('a guard in place of an inbox', () => {
  test('runs its handler once, and gives duplicates the kept result', async () => {
    const runs: unknown[] = []
    const guard = (await aSigningGuard()).on('stripe', (event, { idempotencyKey }) => {
      runs.push([event.key, idempotencyKey('charge').length])
      return { charged: event.payload.id }
    })
    const answer = fetchHandler(guard, 'stripe')

    const first = await answer(toRequest(aDelivery('evt_1')))
    const second = await answer(toRequest(aDelivery('evt_1')))

    expect(runs).toEqual([['evt_1', 46]])
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await first.json()).toMatchObject({ status: 'accepted', result: { charged: 'evt_1' } })
    expect(await second.json()).toMatchObject({ status: 'duplicate', result: { charged: 'evt_1' } })
  })

  test('answers 500 when its handler throws, and runs it again at the next delivery', async () => {
    let runs = 0
    const guard = (await aSigningGuard()).on('stripe', () => {
      runs += 1
      if (runs === 1) throw new Error('declined')
    })
    const app = new Hono().post('/webhooks', honoHandler(guard, 'stripe'))
    const statuses = []

    for (let n = 0; n < 3; n += 1) {
      statuses.push((await app.fetch(toRequest(aDelivery('evt_1')))).status)
    }

    expect(statuses).toEqual([500, 200, 200])
    expect(runs).toBe(2)
  })

  test('H36: gives each event of a request headers, bytes and dates of its own', async () => {
    const seen: unknown[] = []
    const guard = (await aSigningGuard()).on('lists', (event) => {
      const headers = event.headers as Record<string, string>
      seen.push([headers['x-seen'], event.receivedAt.getFullYear() > 1999, event.body.includes(0)])
      headers['x-seen'] = event.key
      event.receivedAt.setFullYear(1999)
      event.body.fill(0)
    })

    const answer = await fetchHandler(guard, 'lists')(toRequest(aDelivery('', ['a', 'b', 'c'])))

    expect(answer.status).toBe(200)
    expect(seen).toEqual(Array(3).fill([undefined, true, false]))
  })

  test('of a request with several events runs each on its own', async () => {
    const runs: string[] = []
    let isWell = false
    const guard = (await aSigningGuard()).on('lists', ({ key }) => {
      if (key === 'b' && !isWell) throw new Error('declined')
      runs.push(key)
    })
    const answer = fetchHandler(guard, 'lists')

    const first = await answer(toRequest(aDelivery('', ['a', 'b', 'c'])))
    isWell = true
    const second = await answer(toRequest(aDelivery('', ['a', 'b', 'c'])))
    const third = await answer(toRequest(aDelivery('', ['a', 'b', 'c'])))

    expect([first.status, second.status, third.status]).toEqual([500, 200, 200])
    expect(runs).toEqual(['a', 'c', 'b'])
    expect(await second.json()).toMatchObject({ status: 'accepted' })
    expect(await third.json()).toMatchObject({ status: 'duplicate' })
  })

  test('serves all its sources through a receiver, and is ready while Redis answers', async () => {
    const guard = (await aSigningGuard()).on('stripe', () => undefined)
    const receiver = createReceiver(guard)
    onTestFinished(() => receiver.drain({ graceMs: 0 }))
    const { port } = await receiver.listen()
    const url = `http://127.0.0.1:${port}`
    const { headers, body } = aDelivery('evt_1')
    const post = (source: string) =>
      fetch(`${url}/in/${source}`, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: Buffer.from(body),
      })

    expect((await post('stripe')).status).toBe(200)
    expect((await post('github')).status).toBe(404)
    // A source without a handler: ours to mend, so its sender comes again.
    expect((await post('lists')).status).toBe(503)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })

  test('takes one handler for a source', async () => {
    const guard = (await aSigningGuard()).on('stripe', () => undefined)

    expect(() => guard.on('stripe', () => undefined)).toThrow('guard.on')
    expect(() => guard.on('github' as never, () => undefined)).toThrow('There is no source')
  })
})
