import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { AWKWARD_BODIES } from './awkward-bodies.ts'
import { rawExchange, statuses } from './raw-exchange.ts'
import { recordingInbox } from './recording-inbox.ts'
import type { RecordingInbox } from './recording-inbox.ts'

export interface RunningApp extends AsyncDisposable {
  readonly port: number
}

/** Starts an application that has the source `standard` at `/webhooks/standard`. */
export type StartApp = (inbox: RecordingInbox) => Promise<RunningApp>

/** What every adapter must do when it is mounted the right way. */
export function adapterCases(
  name: string,
  start: StartApp,
  {
    seesHeadersApart = true,
    bodies = AWKWARD_BODIES,
  }: { seesHeadersApart?: boolean; bodies?: typeof AWKWARD_BODIES } = {},
): void {
  describe(name, () => {
    test.each(Object.entries(bodies))('hands on %s as they were sent', async (_name, sent) => {
      const inbox = recordingInbox()
      await using app = await start(inbox)

      const response = await send(app, sent)

      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status: 'accepted', event: 'event-1' })
      expect(inbox.received.map(({ source }) => source)).toEqual(['standard'])
      expect(Buffer.from(inbox.received[0]?.delivery.body ?? [0]).equals(sent)).toBe(true)
      expect(inbox.received[0]?.delivery.method).toBe('POST')
      expect(inbox.received[0]?.delivery.url).toMatch(/\/webhooks\/standard\?a=1$/)
      expect(inbox.hints).toEqual([])
    })

    test('answers 413 to a body over the cap, declared or not', async () => {
      const inbox = recordingInbox({ bodyBytesMax: 1_000 })
      await using app = await start(inbox)
      const head =
        'POST /webhooks/standard HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n'
      const body = `{"x":"${'x'.repeat(1_999)}"}`

      const declared = await rawExchange(
        app.port,
        `${head}content-length: ${body.length}\r\n\r\n${body}`,
      )
      const chunked = await rawExchange(
        app.port,
        `${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      )

      expect([statuses(declared), statuses(chunked)]).toEqual([[413], [413]])
    })

    test('R62: answers 503 to a body for which others leave no room, declared or not', async () => {
      const inbox = recordingInbox({ inFlightBytesMax: 3_000, bodyBytesMax: 3_000 })
      await using app = await start(inbox)
      const body = `{"x":"${'x'.repeat(1_991)}"}`
      const held = inbox.hold()
      const first = send(app, body)
      await inbox.arrived(1)

      const answers = await Promise.all([
        send(app, body),
        rawExchange(app.port, chunkedRequest(body)),
      ])
      const small = send(app, '{}')
      await inbox.arrived(2)
      held.release()

      expect(answers[0].status).toBe(503)
      expect(answers[0].headers.get('retry-after')).toBe('5')
      expect(statuses(answers[1])).toEqual([503])
      expect(answers[1].toLowerCase()).toContain('retry-after: 5')
      expect([(await first).status, (await small).status]).toEqual([200, 200])
      expect(inbox.received).toHaveLength(2)
      await expect.poll(() => inbox.inFlight.taken).toBe(0)
    })

    test(`refuses an id that came twice${seesHeadersApart ? ', and sees both' : ''}`, async () => {
      const inbox = recordingInbox()
      await using app = await start(inbox)
      const head =
        'POST /webhooks/standard HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n'

      const answer = await rawExchange(
        app.port,
        `${head}webhook-id: evil\r\nwebhook-id: real\r\ncontent-length: 2\r\n\r\n{}`,
      )

      expect(statuses(answer)).toEqual([400])
      expect(inbox.received[0]?.delivery.headers['webhook-id']).toEqual(['evil', 'real'])
    })
  })
}

function chunkedRequest(body: string): string {
  const head = 'POST /webhooks/standard HTTP/1.1\r\nhost: x\r\nconnection: close\r\n'
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  return `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`
}

/** What an adapter must do below a parser that has taken the bytes. */
export async function expectBodyParsed(
  start: StartApp,
  parser: string,
  body: BodyInit,
  contentType = 'application/json',
): Promise<void> {
  const inbox = recordingInbox()
  await using app = await start(inbox)

  const response = await send(app, body, contentType)

  expect(response.status).toBe(500)
  const answer = (await response.json()) as { error: string; hint: string }
  expect(answer).toEqual({ error: 'body_parsed', hint: expect.stringContaining(parser) })
  expect(inbox.hints).toEqual([{ source: 'standard', hint: answer.hint }])
  expect(inbox.received).toEqual([])
}

export function send(
  { port }: RunningApp,
  body: BodyInit,
  contentType = 'application/json',
): Promise<Response> {
  const headers = { 'content-type': contentType }
  return fetch(`http://127.0.0.1:${port}/webhooks/standard?a=1`, { method: 'POST', body, headers })
}

/** Puts a request listener on a port of its own. */
export async function serve(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<RunningApp> {
  const server = createServer((request, response) => void listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
