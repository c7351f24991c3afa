import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { defineProvider } from '../../src/providers/define-provider.ts'
import type { ProviderDefinition } from '../../src/providers/define-provider.ts'
import type { SecretOptions } from '../../src/providers/define-source.ts'
import { hmacSignature } from '../../src/providers/schemes/hmac-signature.ts'

const DEFINITION: ProviderDefinition = {
  provider: 'acme',
  verify: hmacSignature({
    signature: 'header:x-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  batch: '$.events[*]',
  key: 'json:$.id',
  retryWindowHours: 24,
}

function define(more: Partial<ProviderDefinition>) {
  const provider = defineProvider<SecretOptions>({ ...DEFINITION, ...more })
  return provider({ secrets: ['a-secret-of-some-length'] })
}

function delivery(body: unknown, url = '/'): Delivery {
  const bytes = Buffer.from(JSON.stringify(body))
  return { method: 'POST', url, headers: {}, body: bytes, receivedAt: new Date(0) }
}

describe('the parts of a batch', () => {
  test('are cut one after the other, and no more than one beyond the limit', () => {
    let cut = 0
    const source = define({
      *batch() {
        for (; cut < 1_000;) {
          cut += 1
          yield { bytes: Buffer.from(`{"id":"${cut}"}`) }
        }
      },
    })

    const events = source.identify(delivery({}), undefined, { eventsMax: 4 })

    expect(events.map(({ key }) => key)).toEqual(['1', '2', '3', '4', '5'])
    expect(cut).toBe(5)
  })

  test('are all cut where there is no limit', () => {
    const events = Array.from({ length: 20_000 }, (_, id) => ({ id }))

    expect(define({}).identify(delivery({ events }))).toHaveLength(20_000)
  })

  test('take over from the body around them what is short, numbers as they are written', () => {
    const body = '{"account":12345678901234567890,"events":[{"id":1},{"id":2}]}'
    const source = define({ scope: 'root:$.account' })

    const events = source.identify({ ...delivery({}), body: Buffer.from(body) })

    expect(events.map(({ scope }) => scope)).toEqual([
      '12345678901234567890',
      '12345678901234567890',
    ])
  })

  test('take over nothing that is long: each of them would have it', () => {
    const source = define({ key: { all: ['root:$.account', 'json:$.id'] }, scope: 'root:$.site' })
    const scopes = (site: string) =>
      source
        .identify(delivery({ account: 'a', site, events: [{ id: 1 }] }))
        .map(({ key, scope }) => [key, scope])

    expect(scopes('s'.repeat(1_024))).toEqual([['a|1', 's'.repeat(1_024)]])
    expect(scopes('s'.repeat(1_025))).toEqual([['a|1', undefined]])
    const [long] = source.identify(delivery({ account: 'a'.repeat(2_000), events: [{ id: 1 }] }))
    expect(long?.key).toBeUndefined()
  })

  test('a body that is one event has all of its own texts, however long', () => {
    const source = define({ key: 'root:$.account' })

    const [event] = source.identify(delivery({ account: 'a'.repeat(2_000) }))

    expect(event?.key).toHaveLength(2_000)
  })

  test('are known by their own bytes where they are known by bytes', () => {
    const source = define({ key: 'body' })
    const hashOf = (text: string) => `body_${createHash('sha256').update(text).digest('hex')}`

    const events = source.identify(delivery({ events: [{ n: 1 }, { n: 2 }] }))

    expect(events.map(({ key }) => key)).toEqual([hashOf('{"n":1}'), hashOf('{"n":2}')])
  })

  test('read the query of the request', () => {
    const source = define({ scope: 'query:account' })

    const events = source.identify(delivery({ events: [{ id: 1 }, { id: 2 }] }, '/?account=a'))

    expect(events.map(({ scope }) => scope)).toEqual(['a', 'a'])
  })
})

describe('what is not to be stored of a batch', () => {
  test('is taken out of the whole request as well, wherever a part may stand', () => {
    const source = define({ unstored: ['$.passcode'] })
    const body = {
      passcode: 'p0',
      events: [
        { id: 1, passcode: 'p1' },
        { id: 2, passcode: 'p2' },
      ],
    }

    const kept = source.redactBody?.(delivery(body))

    expect(JSON.parse(Buffer.from(kept ?? []).toString())).toEqual({
      passcode: '',
      events: [
        { id: 1, passcode: '' },
        { id: 2, passcode: '' },
      ],
    })
    expect(define({}).redactBody).toBeUndefined()
  })

  test('cannot be declared where code cuts the request: it could not be taken out of the whole', () => {
    expect(() => define({ unstored: ['$.passcode'], batch: () => [] })).toThrow(
      'acme.unstored must be used with a batch that is a path',
    )
  })
})
