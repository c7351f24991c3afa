import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { MiddlewareHandler } from 'hono'
import { describe, expect, test } from 'vitest'
import { honoHandler } from '../../../src/http/frameworks/hono.ts'
import { adapterCases, expectBodyParsed, serve } from '../../support/adapter-cases.ts'
import type { StartApp } from '../../support/adapter-cases.ts'
import { recordingInbox } from '../../support/recording-inbox.ts'

const below =
  (...middleware: MiddlewareHandler[]): StartApp =>
  (inbox) => {
    const app = new Hono()
    for (const handler of middleware) app.use(handler)
    app.post('/webhooks/standard', honoHandler(inbox, 'standard'))
    return serve(getRequestListener(app.fetch))
  }

adapterCases('Hono on Node', below())
adapterCases(
  'Hono on Node below a middleware that read the bytes',
  below(async (context, next) => {
    await context.req.arrayBuffer()
    await next()
  }),
)

describe('Hono below a middleware', () => {
  test.each([
    ['json', '{}'],
    ['text', 'a'],
    ['formData', 'a=1'],
  ] as const)('that called c.req.%s() answers 500 and says so', async (method, body) => {
    await expectBodyParsed(
      below(async (context, next) => {
        await (context.req[method] as () => Promise<unknown>).call(context.req)
        await next()
      }),
      'A middleware read the body with c.req.json(), text(), formData() or the like',
      body,
      method === 'formData' ? 'application/x-www-form-urlencoded' : 'application/json',
    )
  })
})

describe('Hono without Node', () => {
  test('refuses an id that came twice', async () => {
    const inbox = recordingInbox()
    const app = new Hono()
    app.post('/webhooks/standard', honoHandler(inbox, 'standard'))
    const headers: [string, string][] = [
      ['webhook-id', 'evil'],
      ['webhook-id', 'real'],
    ]

    const response = await app.request('/webhooks/standard', {
      method: 'POST',
      body: '{}',
      headers,
    })

    expect(response.status).toBe(400)
  })
})

test('a source that does not exist is refused when it is mounted', () => {
  expect(() => honoHandler(recordingInbox(), 'stirpe')).toThrow(
    expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
  )
})
