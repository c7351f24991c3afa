import { describe, expect, test } from 'vitest'
import { nodeHandler } from '../../src/http/node.ts'
import { adapterCases, expectBodyParsed, send, serve } from '../support/adapter-cases.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

adapterCases('a Node request listener', (inbox) => serve(nodeHandler(inbox, 'standard')))

adapterCases('a Node request listener behind one that kept the bytes in rawBody', (inbox) => {
  const handler = nodeHandler(inbox, 'standard')
  return serve((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      handler(Object.assign(request, { rawBody: Buffer.concat(chunks) }), response),
    )
  })
})

describe('a Node request listener that gets no bytes', () => {
  test('because the body was read, says so', async () => {
    await expectBodyParsed(
      (inbox) => {
        const handler = nodeHandler(inbox, 'standard')
        return serve((request, response) =>
          request.resume().on('end', () => handler(request, response)),
        )
      },
      'Something read the body before Hookonce',
      '{}',
    )
  })

  test('because an encoding was set, says so', async () => {
    await expectBodyParsed(
      (inbox) => {
        const handler = nodeHandler(inbox, 'standard')
        return serve((request, response) => handler(request.setEncoding('utf8'), response))
      },
      'setEncoding()',
      '{}',
    )
  })

  test('because rawBody is a string, says so', async () => {
    await expectBodyParsed(
      (inbox) => {
        const handler = nodeHandler(inbox, 'standard')
        return serve((request, response) =>
          request
            .resume()
            .on('end', () => handler(Object.assign(request, { rawBody: '{}' }), response)),
        )
      },
      'keep the Buffer instead',
      '{}',
    )
  })
})

test('a source that does not exist is refused when it is mounted', () => {
  expect(() => nodeHandler(recordingInbox(), 'stirpe')).toThrow(
    expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
  )
})

test('an answer that was given already is left alone', async () => {
  const inbox = recordingInbox()
  const handler = nodeHandler(inbox, 'standard')
  await using app = await serve((request, response) => {
    handler(request, response)
    response.writeHead(418).end()
  })

  expect((await send(app, '{}')).status).toBe(418)
  await inbox.arrived(1)
})
