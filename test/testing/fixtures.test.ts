import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { github, hmac, standardWebhooks, stripe } from '../../src/providers/index.ts'
import { testInbox, toFixture } from '../../src/testing/index.ts'
import type { EventFixture } from '../../src/testing/index.ts'

async function anInbox() {
  const seen: { readonly key: string; readonly body: string }[] = []
  const t = await testInbox({
    sources: { stripe, github },
    handlers: (inbox) => {
      for (const source of ['stripe', 'github'] as const)
        inbox.on(source, '*', ({ key, body }) =>
          seen.push({ key, body: Buffer.from(body).toString() }),
        )
    },
  })
  onTestFinished(() => t.close())
  return { t, seen }
}

describe('an event in a file', () => {
  test.each([
    ['stripe', 'invoice.paid', stripe],
    ['github', 'push', github],
  ] as const)('%s: is delivered as it came, and signed anew', async (source, type, provider) => {
    const first = await anInbox()
    const delivered = await first.t.deliver(source, type, { headers: { 'x-trace': 'abc' } })
    await first.t.idle()
    const record = await delivered.event()
    const secrets = ['a-secret-of-more-than-16-bytes']
    const fixture = toFixture(record as NonNullable<typeof record>, provider({ secrets }))
    const folder = mkdtempSync(join(tmpdir(), 'hookonce-fixture-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'event.json')
    writeFileSync(file, JSON.stringify(fixture))

    const { t, seen } = await anInbox()
    const again = await t.deliverFixture(file, { times: 2 })
    await t.idle()

    expect(again.answers.map((answer) => answer?.outcome)).toEqual(['accepted', 'duplicate'])
    expect(seen).toEqual(first.seen)
    expect(fixture.headers).toMatchObject({ 'x-trace': 'abc' })
    expect(Object.keys(fixture.headers).join()).not.toMatch(/signature/i)
  })

  test('is signed anew where a header has the time of its signature, and the type stands in its body', async () => {
    const terms = {
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      secrets: ['a-secret-of-more-than-16-bytes'],
      timestamp: { header: 'x-sent-at', format: 'seconds' },
      signed: '{timestamp}.{body}',
      key: 'header:x-id',
      type: 'json:$.type',
    } as const
    const seen: string[] = []
    const t = await testInbox({
      sources: { partner: hmac(terms), 'standard-webhooks': standardWebhooks },
      credentials: { partner: terms },
      handlers: (inbox) => {
        for (const source of ['partner', 'standard-webhooks'] as const)
          inbox.on(source, '*', ({ key, type }) => seen.push(`${key} ${type}`))
      },
    })
    onTestFinished(() => t.close())
    const old = { format: 'hookonce-fixture/1', receivedAt: '2024-01-01T00:00:00.000Z' }
    const body = Buffer.from('{"type":"order.paid"}').toString('base64')
    const type = 'order.paid'

    const partner = await t.deliverFixture({
      ...old,
      ...{ source: 'partner', type, key: 'p_1', body },
      headers: { 'x-sent-at': '1704067200', 'x-id': 'p_1' },
    })
    const standard = await t.deliverFixture({
      ...old,
      ...{ source: 'standard-webhooks', type, key: 'msg_1', body },
      headers: { 'webhook-timestamp': '1704067200', 'webhook-id': 'msg_1' },
    })
    await t.idle()

    const answers = [...partner.answers, ...standard.answers]
    expect(answers.map((answer) => answer?.outcome)).toEqual(['accepted', 'accepted'])
    expect(seen.sort()).toEqual(['msg_1 order.paid', 'p_1 order.paid'])
    const wrong = { ...old, source: 'partner', type: 'order.lost', body, headers: {} }
    await expect(t.deliverFixture(wrong)).rejects.toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'sign.type' }),
    )
  })

  test('keeps no header that shows or proves a secret', () => {
    const headers = {
      'content-type': 'application/json',
      'x-own': 'kept',
      authorization: 'Basic secret',
      cookie: 'session=secret',
      'X-Api-Key': 'secret',
      'x-hub-signature-256': 'sha256=secret',
      'x-proof': 'secret',
      twice: ['secret', 'secret'],
      // As it is stored.
      'x-shown': '[withheld]',
    }
    const fixture = toFixture(
      { source: 'a', type: 'b', headers, body: Buffer.from('{}'), receivedAt: new Date(0) },
      { securityHeaders: ['x-proof'] },
    )

    expect(fixture).toEqual({
      format: 'hookonce-fixture/1',
      source: 'a',
      type: 'b',
      headers: { 'content-type': 'application/json', 'x-own': 'kept' },
      body: 'e30=',
      receivedAt: '1970-01-01T00:00:00.000Z',
    })
  })

  test.each([
    ['another format', { format: 'other/1' }, 'deliverFixture.format'],
    ['no type', { type: undefined }, 'deliverFixture.type'],
    ['a body that is no text', { body: {} }, 'deliverFixture.body'],
    ['headers that are no texts', { headers: { a: 1 } }, 'deliverFixture.headers.a'],
  ])('is refused with %s', async (_name, change, option) => {
    const { t } = await anInbox()
    const fixture: EventFixture = {
      format: 'hookonce-fixture/1',
      source: 'stripe',
      type: 'invoice.paid',
      headers: {},
      body: '',
      receivedAt: '2026-01-01T00:00:00.000Z',
    }

    await expect(t.deliverFixture({ ...fixture, ...change })).rejects.toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })
})
