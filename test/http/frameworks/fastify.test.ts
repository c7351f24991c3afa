import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { fastifyHandler, fastifyPlugin } from '../../../src/http/frameworks/fastify.ts'
import { adapterCases, expectBodyParsed, send } from '../../support/adapter-cases.ts'
import type { RunningApp, StartApp } from '../../support/adapter-cases.ts'
import { AWKWARD_BODIES } from '../../support/awkward-bodies.ts'
import { recordingInbox } from '../../support/recording-inbox.ts'

const withPlugin: StartApp = (inbox) => {
  const app = fastify()
  app.post('/echo', (request) => request.body)
  app.register(fastifyPlugin(inbox, 'standard'), { prefix: '/webhooks/standard' })
  return listening(app)
}

const withHandler =
  (prepare: (app: FastifyInstance) => void): StartApp =>
  (inbox) => {
    const app = fastify()
    prepare(app)
    app.post('/webhooks/standard', fastifyHandler(inbox, 'standard'))
    return listening(app)
  }

adapterCases('the Fastify plugin', withPlugin)
adapterCases(
  'a Fastify route below a parser that keeps bytes',
  withHandler((app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  }),
)

describe('the Fastify plugin', () => {
  test('takes a delivery whose content type Fastify would refuse', async () => {
    const inbox = recordingInbox()
    await using app = await withPlugin(inbox)
    const sent = AWKWARD_BODIES['bytes that are not UTF-8'] as Uint8Array<ArrayBuffer>

    expect((await send(app, sent, '/;garbage')).status).toBe(200)
    expect((await send(app, sent, 'application/x-unheard-of')).status).toBe(200)

    expect(inbox.received.map(({ delivery }) => Buffer.from(delivery.body))).toEqual([
      Buffer.from(sent),
      Buffer.from(sent),
    ])
  })

  test('leaves the JSON parser of every other route alone', async () => {
    await using app = await withPlugin(recordingInbox())

    const response = await fetch(`http://127.0.0.1:${app.port}/echo`, {
      method: 'POST',
      body: '{ "a" : 1 }',
      headers: { 'content-type': 'application/json' },
    })

    expect(await response.text()).toBe('{"a":1}')
  })

  test('has several sources side by side', async () => {
    const inbox = recordingInbox()
    const app = fastify()
    app.register(fastifyPlugin(inbox, 'stripe'), { prefix: '/webhooks/stripe' })
    app.register(fastifyPlugin(inbox, 'standard'), { prefix: '/webhooks/standard' })

    const answers = await Promise.all(
      ['stripe', 'standard'].map((source) =>
        app.inject({ method: 'POST', url: `/webhooks/${source}`, payload: '{}' }),
      ),
    )

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200])
    expect(inbox.received.map(({ source }) => source).sort()).toEqual(['standard', 'stripe'])
    await app.close()
  })
})

describe('a Fastify route below its own parsers', () => {
  test('answers 500 and names the JSON parser', () =>
    expectBodyParsed(
      withHandler(() => undefined),
      "Fastify's JSON parser read the body",
      '{}',
    ))

  test('answers 500 and names the text parser', () =>
    expectBodyParsed(
      withHandler(() => undefined),
      "Fastify's text parser read the body",
      'a',
      'text/plain',
    ))

  test('says to register the plugin', () =>
    expectBodyParsed(
      withHandler(() => undefined),
      "app.register(fastifyPlugin(inbox, 'standard'), { prefix: '/webhooks/standard' })",
      '{}',
    ))
})

test('a source that does not exist is refused when it is mounted', () => {
  expect(() => fastifyPlugin(recordingInbox(), 'stirpe')).toThrow(
    expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
  )
})

async function listening(app: FastifyInstance): Promise<RunningApp> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    port: (app.server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}
