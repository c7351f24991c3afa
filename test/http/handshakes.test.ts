import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { fastifyPlugin } from '../../src/http/frameworks/fastify.ts'
import { createReceiver } from '../../src/http/node.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { defineProvider, emptyAnswer, meta, sharedToken, slack } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sign } from '../../src/testing/index.ts'

const SECRET = 'a-secret-for-tests-only'
const QUERY = 'hub.mode=subscribe&hub.challenge=42&hub.verify_token='

describe('a handshake with a real inbox', () => {
  test('with the right token is answered, with another refused, and neither is stored', async () => {
    await using receiver = await openReceiver()

    const right = await fetch(`${receiver.url}/in/meta?${QUERY}right`)
    const wrong = await fetch(`${receiver.url}/in/meta?${QUERY}wrong`)

    expect([right.status, await right.text()]).toEqual([200, '42'])
    expect([wrong.status, await wrong.json()]).toEqual([401, { error: 'unauthorized' }])
    expect(await receiver.countEvents()).toBe(0)
    const told = receiver.happenings.filter((name) => name !== 'delivery.answered')
    expect(told).toEqual(['delivery.handshake', 'delivery.refused'])
  })

  test('that is signed is answered after its signature, and not stored', async () => {
    await using receiver = await openReceiver()
    const body = { type: 'url_verification', challenge: 'abc' }
    const signed = sign(slack, { body }, { secret: SECRET })

    expect(await receiver.inbox.receive('slack', signed)).toMatchObject({
      status: 200,
      body: 'abc',
    })
    expect(await receiver.inbox.receive('slack', { ...signed, headers: {} })).toMatchObject({
      status: 401,
    })
    expect(await receiver.countEvents()).toBe(0)
  })

  test('may be a HEAD, and other methods are told which ones there are', async () => {
    await using receiver = await openReceiver()

    expect((await fetch(`${receiver.url}/in/pinged`, { method: 'HEAD' })).status).toBe(200)
    const put = await fetch(`${receiver.url}/in/pinged`, { method: 'PUT' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, HEAD'])
    const get = await fetch(`${receiver.url}/in/slack`)
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test('reaches a Fastify plugin', async () => {
    await using receiver = await openReceiver()
    const app = fastify()
    await app.register(fastifyPlugin(receiver.inbox, 'meta'), { prefix: '/webhooks/meta' })

    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    try {
      const answer = await fetch(`${address}/webhooks/meta?${QUERY}right`)
      expect([answer.status, await answer.text()]).toEqual([200, '42'])
    } finally {
      await app.close()
    }
  })
})

describe('a delivery with several events', () => {
  test('stores each with its own bytes, none of a retry, and of an overlap only the new one', async () => {
    await using receiver = await openReceiver()

    for (const ids of [['a', 'b', 'c'], ['a', 'b', 'c'], ['b', 'c', 'd'], []]) {
      expect(await receiver.inbox.receive('meta', batchOf(ids))).toMatchObject({ status: 200 })
    }

    expect(await receiver.countEvents()).toBe(4)
    const [stored] = await receiver.inbox.admin.listEventsByKey('meta', 'b')
    const body = Buffer.from(stored?.body ?? []).toString()
    expect(body).toContain('"messages":[{"id":"b","type":"text"}]')
  })
})

describe('what a provider wants to hear', () => {
  test('is an exact text, or an empty refusal with a status of its own', async () => {
    await using receiver = await openReceiver()
    const delivery = {
      ...batchOf([]),
      headers: { 'x-token': SECRET },
      body: Buffer.from('{"id":"1"}'),
    }

    expect(await receiver.inbox.receive('pinged', delivery)).toMatchObject({
      status: 200,
      body: '[accepted]',
      headers: { 'content-type': 'text/plain' },
    })
    expect(await receiver.inbox.receive('pinged', { ...delivery, headers: {} })).toMatchObject({
      status: 498,
      body: '',
    })
  })
})

function batchOf(ids: readonly string[]): Delivery {
  const messages = ids.map((id) => ({ id, type: 'text' }))
  const entry =
    ids.length === 0 ? [] : [{ id: '1', changes: [{ field: 'messages', value: { messages } }] }]
  return sign(meta, { body: { object: 'whatsapp_business_account', entry } }, { secret: SECRET })
}

async function openReceiver() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-'))
  const pinged = defineProvider({
    provider: 'pinged',
    verify: sharedToken({ at: 'header:x-token' }),
    handshake: { summary: 'a HEAD', method: 'HEAD', answer: () => emptyAnswer() },
    key: 'json:$.id',
    success: { body: { text: '[accepted]', contentType: 'text/plain' } },
    refusal: { status: 498, body: 'empty' },
    retryWindowHours: null,
  })
  const secrets = [SECRET]
  const inbox = createInbox({
    store: sqliteStore(path.join(folder, 'inbox.db')),
    sources: {
      meta: meta({ secrets, verifyToken: 'right' }),
      slack: slack({ secrets }),
      pinged: pinged({ secrets } as object),
    },
    worker: false,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const happenings: string[] = []
  inbox.events.onAny((name) => {
    if (name.startsWith('delivery.')) happenings.push(name)
  })
  const receiver = createReceiver(inbox)
  const { port } = await receiver.listen()
  return {
    inbox,
    happenings,
    url: `http://127.0.0.1:${port}`,
    countEvents: () => inbox.admin.countEvents(),
    async [Symbol.asyncDispose]() {
      await receiver.drain({ graceMs: 0 })
      await inbox.stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
