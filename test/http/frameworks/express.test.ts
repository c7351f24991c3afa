import { createRequire } from 'node:module'
import express from 'express'
import { describe, expect, test } from 'vitest'
import { expressHandler } from '../../../src/http/frameworks/express.ts'
import { adapterCases, expectBodyParsed, send, serve } from '../../support/adapter-cases.ts'
import type { StartApp } from '../../support/adapter-cases.ts'
import { PARSEABLE_BODIES } from '../../support/awkward-bodies.ts'
import { recordingInbox } from '../../support/recording-inbox.ts'

// Express 4 has the same functions, and no types of its own.
const versions = [
  ['Express 5', express],
  ['Express 4', createRequire(import.meta.url)('express4') as typeof express],
] as const

for (const [name, framework] of versions) {
  const below =
    (...middleware: express.RequestHandler[]): StartApp =>
    (inbox) => {
      const app = framework()
      for (const handler of middleware) app.use(handler)
      app.post('/webhooks/standard', expressHandler(inbox, 'standard'))
      app.use(framework.json())
      return serve(app)
    }

  adapterCases(`${name}, the route above express.json()`, below())
  adapterCases(`${name}, the route below express.raw()`, below(framework.raw({ type: () => true })))
  adapterCases(`${name}, mounted by use()`, (inbox) => {
    const app = framework()
    app.use('/webhooks/standard', expressHandler(inbox, 'standard'))
    return serve(app)
  })

  describe(`${name}, the route below a parser`, () => {
    test('that keeps the bytes in rawBody gets them', async () => {
      const keep = framework.json({
        verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }),
      })
      const inbox = recordingInbox()
      await using app = await below(keep)(inbox)

      for (const sent of PARSEABLE_BODIES) expect((await send(app, sent)).status).toBe(200)

      expect(inbox.received.map(({ delivery }) => Buffer.from(delivery.body))).toEqual(
        PARSEABLE_BODIES.map((b) => Buffer.from(b)),
      )
    })

    test('that leaves this content type alone gets the bytes', async () => {
      const inbox = recordingInbox()
      await using app = await below(
        framework.json(),
        framework.urlencoded({ extended: true }),
      )(inbox)

      expect((await send(app, Buffer.from([0xff, 0x00]), 'application/octet-stream')).status).toBe(
        200,
      )
      expect([...(inbox.received[0]?.delivery.body ?? [])]).toEqual([0xff, 0x00])
    })

    test('express.json() answers 500 and names it', () =>
      expectBodyParsed(
        below(framework.json()),
        'express.json() (or bodyParser.json()) read the body',
        '{}',
      ))

    test('express.urlencoded() answers 500 and names it', () =>
      expectBodyParsed(
        below(framework.urlencoded({ extended: true })),
        'express.urlencoded() (or bodyParser.urlencoded()) read the body',
        'a=1',
        'application/x-www-form-urlencoded',
      ))

    test('express.text() answers 500 and names it', () =>
      expectBodyParsed(
        below(framework.text()),
        'express.text() (or bodyParser.text()) read the body',
        'a',
        'text/plain',
      ))

    test('says where to mount the route instead', () =>
      expectBodyParsed(
        below(framework.json()),
        "app.post('/webhooks/standard', expressHandler(inbox, 'standard')) first, app.use(express.json()) after it",
        '{}',
      ))
  })
}

test('a source that does not exist is refused when it is mounted', () => {
  expect(() => expressHandler(recordingInbox(), 'stirpe')).toThrow(
    expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
  )
})
