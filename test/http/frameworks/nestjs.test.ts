import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Controller, Module, Post, Req, RequestMethod, Res } from '@nestjs/common'
import type { INestApplication, MiddlewareConsumer, NestModule, Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { describe, expect, test } from 'vitest'
import { nestHandler } from '../../../src/http/frameworks/nestjs.ts'
import type { NestRequest, NestResponse } from '../../../src/http/frameworks/nestjs.ts'
import { adapterCases, expectBodyParsed, send } from '../../support/adapter-cases.ts'
import type { RunningApp, StartApp } from '../../support/adapter-cases.ts'
import { PARSEABLE_BODIES } from '../../support/awkward-bodies.ts'
import { recordingInbox } from '../../support/recording-inbox.ts'
import type { RecordingInbox } from '../../support/recording-inbox.ts'

interface Setup {
  readonly platform: 'express' | 'fastify'
  readonly as: (inbox: RecordingInbox) => Type
  readonly rawBody?: boolean
  readonly bodyParser?: boolean
}

/** What Nest's own parsers accept; the others never get past them. */
const PARSEABLE = Object.fromEntries(
  PARSEABLE_BODIES.map((body, index) => [`parseable body ${index + 1}`, body]),
)

adapterCases(
  'a Nest middleware on Express without parsers',
  nest({ platform: 'express', as: asMiddleware, bodyParser: false }),
)
adapterCases(
  'a Nest middleware on Express with rawBody',
  nest({ platform: 'express', as: asMiddleware, rawBody: true }),
  { bodies: PARSEABLE },
)
adapterCases(
  'a Nest controller on Express with rawBody',
  nest({ platform: 'express', as: asController, rawBody: true }),
  { bodies: PARSEABLE },
)
adapterCases('a Nest middleware on Fastify', nest({ platform: 'fastify', as: asMiddleware }))
adapterCases(
  'a Nest controller on Fastify with rawBody',
  nest({ platform: 'fastify', as: asController, rawBody: true }),
  { bodies: PARSEABLE },
)

describe('Nest below its own parsers', () => {
  test.each([
    ['a middleware on Express', { platform: 'express', as: asMiddleware }],
    ['a controller on Express', { platform: 'express', as: asController }],
    ['a controller on Fastify', { platform: 'fastify', as: asController }],
  ] as const)('answers 500 in %s, names the parser and what to set', async (_where, setup) => {
    await expectBodyParsed(nest(setup), "Nest's global JSON parser read the body", '{}')
    await expectBodyParsed(nest(setup), 'NestFactory.create(AppModule, { rawBody: true })', '{}')
    await expectBodyParsed(
      nest(setup),
      "Nest's global form parser",
      'a=1',
      'application/x-www-form-urlencoded',
    )
  })

  test('gets the bytes of a content type that they leave alone', async () => {
    const inbox = recordingInbox()
    await using app = await nest({ platform: 'express', as: asMiddleware })(inbox)

    expect((await send(app, Buffer.from([0xff]), 'application/octet-stream')).status).toBe(200)
    expect([...(inbox.received[0]?.delivery.body ?? [])]).toEqual([0xff])
  })
})

test('a source that does not exist is refused when it is mounted', () => {
  expect(() => nestHandler(recordingInbox(), 'stirpe')).toThrow(
    expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
  )
})

function nest({ platform, as, ...options }: Setup): StartApp {
  return async (inbox) => {
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter()
    const app = await NestFactory.create(as(inbox), adapter, {
      logger: false,
      ...options,
    })
    await app.listen(0, '127.0.0.1')
    return running(app)
  }
}

// The decorators are called as functions, since the test runner does not compile them.
function asMiddleware(inbox: RecordingInbox): Type {
  class AppModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer
        .apply(nestHandler(inbox, 'standard'))
        .forRoutes({ path: 'webhooks/standard', method: RequestMethod.POST })
    }
  }
  Module({})(AppModule)
  return AppModule
}

function asController(inbox: RecordingInbox): Type {
  const handle = nestHandler(inbox, 'standard')
  class WebhooksController {
    standard(request: NestRequest, response: NestResponse): Promise<void> {
      return handle(request, response)
    }
  }
  const { prototype } = WebhooksController
  Req()(prototype, 'standard', 0)
  Res()(prototype, 'standard', 1)
  Post('standard')(
    prototype,
    'standard',
    Object.getOwnPropertyDescriptor(prototype, 'standard') as PropertyDescriptor,
  )
  Controller('webhooks')(WebhooksController)

  class AppModule {}
  Module({ controllers: [WebhooksController] })(AppModule)
  return AppModule
}

function running(app: INestApplication): RunningApp {
  const server = app.getHttpServer() as { address(): AddressInfo; closeAllConnections(): void }
  return {
    port: server.address().port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await app.close()
    },
  }
}
