/** Senders of Standard Webhooks with names or liberties of their own. */

import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  anthropic,
  clerk,
  openai,
  resend,
  standardWebhooks,
  svix,
} from '../../src/providers/index.ts'
import { delivery, NOW, OTHER_SECRET, SECRET } from './signed-sources.ts'

const BODY = '{"type":"contact.created","id":"evt_1"}'
const secrets = [SECRET]
const time = String(NOW.getTime() / 1000)

function signature(id: string, key: Buffer | string = Buffer.from(SECRET.slice(6), 'base64')) {
  return createHmac('sha256', key).update(`${id}.${time}.${BODY}`).digest('base64')
}

function headers(name: string, id: string, value = `v1,${signature(id)}`) {
  return { [`${name}-id`]: id, [`${name}-timestamp`]: time, [`${name}-signature`]: value }
}

describe('the names of the headers', () => {
  test('svix takes either family, its own first, and the key from the one it checked', async () => {
    const source = svix({ secrets })
    const own = headers('svix', 'msg_1')
    const forged = headers('webhook', 'msg_2', 'v1,AAAA')
    const [event] = source.identify(delivery({ ...own, ...forged }, BODY))

    expect(await source.verify(delivery({ ...own, ...forged }, BODY))).toMatchObject({ ok: true })
    expect(event?.key).toBe('msg_1')
    expect(source.identify(delivery(headers('webhook', 'msg_3'), BODY))[0]?.key).toBe('msg_3')
    // The id of the other family is no way in.
    const { 'svix-id': _, ...rest } = own
    const mixed = { ...rest, 'webhook-id': 'msg_1' }
    expect(await source.verify(delivery(mixed, BODY))).toMatchObject({ ok: false })
  })

  test.each([
    ['clerk', clerk],
    ['resend', resend],
  ])('%s takes its own only', async (_, provider) => {
    const source = provider({ secrets })

    expect(await source.verify(delivery(headers('svix', 'msg_1'), BODY))).toMatchObject({
      ok: true,
    })
    expect(await source.verify(delivery(headers('webhook', 'msg_1'), BODY))).toEqual({
      ok: false,
      reason: 'missing-header',
    })
  })
})

describe('openai', () => {
  const bare = delivery(headers('webhook', 'wh_1', signature('wh_1')), BODY)

  test('takes a signature without its version, as no other does', async () => {
    expect(await openai({ secrets }).verify(bare)).toMatchObject({ ok: true })
    expect(await anthropic({ secrets }).verify(bare)).toMatchObject({ ok: false })
    expect(await standardWebhooks({ secrets }).verify(bare)).toMatchObject({ ok: false })
    expect(await openai({ secrets: [OTHER_SECRET] }).verify(bare)).toMatchObject({ ok: false })
  })

  test('takes no signature of another version', async () => {
    for (const version of ['v2,', 'v1a,', ',', 'v1,v1,']) {
      const other = headers('webhook', 'wh_1', version + signature('wh_1'))
      expect(await openai({ secrets }).verify(delivery(other, BODY))).toMatchObject({ ok: false })
    }
  })

  test('takes a secret without whsec_ as it stands', async () => {
    const text = SECRET.slice(6)
    const asText = headers('webhook', 'wh_1', `v1,${signature('wh_1', text)}`)

    expect(await openai({ secrets: [text] }).verify(delivery(asText, BODY))).toMatchObject({
      ok: true,
    })
    expect(await openai({ secrets: [text] }).verify(bare)).toMatchObject({ ok: false })
    expect(
      await standardWebhooks({ secrets: [text] }).verify(delivery(asText, BODY)),
    ).toMatchObject({ ok: false })
  })

  test('refuses a secret that is whsec_ and no base64', () => {
    expect(() => openai({ secrets: ['whsec_not base64'] })).toThrow(/whsec|secrets/)
    expect(() => openai({ secrets: ['whsec_'] })).toThrow()
  })

  test('knows two deliveries of one evt_ as two, by their signed id', () => {
    const keys = ['wh_1', 'wh_2'].map(
      (id) => openai({ secrets }).identify(delivery(headers('webhook', id), BODY))[0]?.key,
    )

    expect(keys).toEqual(['wh_1', 'wh_2'])
  })
})

test('anthropic’s event is known by the id in its body, and typed by its data', () => {
  const body = {
    type: 'event',
    id: 'event_1',
    created_at: '2025-10-09T08:53:20Z',
    data: { type: 'session.status_idled', id: 'sesn_1', organization_id: 'o', workspace_id: 'w' },
  }
  const source = anthropic({ secrets })

  expect(source.identify(delivery({ 'webhook-id': 'msg_1' }, JSON.stringify(body)))).toEqual([
    {
      key: 'event_1',
      scope: 'o|w',
      type: 'session.status_idled',
      occurredAt: new Date('2025-10-09T08:53:20Z'),
    },
  ])
})

test('clerk’s event has its instance, and a version that rises', () => {
  const body = {
    type: 'user.updated',
    timestamp: 1_759_999_999_123,
    instance_id: 'ins_1',
    data: { id: 'user_1', updated_at: 1_759_999_999_000 },
  }

  expect(clerk({ secrets }).identify(delivery({ 'svix-id': 'm' }, JSON.stringify(body)))).toEqual([
    {
      key: 'm',
      scope: 'ins_1',
      type: 'user.updated',
      occurredAt: new Date(1_759_999_999_123),
      version: 1_759_999_999_000,
    },
  ])
})
