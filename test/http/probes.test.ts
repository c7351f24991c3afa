import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { stripe, unsigned } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sign } from '../../src/testing/index.ts'
import { aFolder } from '../support/run-command.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('a request that says that it is a probe', () => {
  test('is told what arrived of it, and is no event', async () => {
    await using inbox = anInbox()
    const { prober } = stripe({ secrets: [SECRET] })
    const body = Buffer.from('{ "a": 1.0 }\n')
    const probe = prober?.sign(body, new Date()) ?? ''
    const send = (arrived: string) =>
      inbox.receive('stripe', {
        ...aDelivery({ 'hookonce-probe': probe, 'stripe-signature': 'probe' }),
        body: Buffer.from(arrived),
      })

    const same = await send('{ "a": 1.0 }\n')
    const changed = await send('{"a":1}')

    expect(same).toMatchObject({ status: 200, outcome: 'handshake', eventId: undefined })
    expect(JSON.parse(same.body)).toEqual({ probe: 'same', bytes: 13, missing: [] })
    expect(JSON.parse(changed.body)).toEqual({
      probe: 'changed',
      bytes: 7,
      missing: [],
      body: Buffer.from('{"a":1}').toString('base64'),
    })
    expect(await inbox.admin.countEvents()).toBe(0)
  })

  test('names the headers of the signature that did not arrive', async () => {
    await using inbox = anInbox()
    const probe = stripe({ secrets: [SECRET] }).prober?.sign(new Uint8Array(), new Date()) ?? ''

    const answer = await inbox.receive('stripe', aDelivery({ 'hookonce-probe': probe }))

    expect(JSON.parse(answer.body)).toMatchObject({ missing: ['stripe-signature'] })
  })

  test('is never an event, though its sender has signed it', async () => {
    await using inbox = anInbox()
    const signed = sign('stripe', { type: 'invoice.paid' }, { secret: SECRET })
    const captured = { ...signed, headers: { ...signed.headers, 'hookonce-probe': 'v1' } }

    expect(await inbox.receive('stripe', captured)).toMatchObject({ status: 401 })
    expect(await inbox.receive('open', captured)).toMatchObject({ status: 401 })
    expect(await inbox.admin.countEvents()).toBe(0)
    // Without the header it is one.
    expect(await inbox.receive('stripe', signed)).toMatchObject({ status: 200 })
    expect(await inbox.admin.countEvents()).toBe(1)
  })
})

function anInbox() {
  return createInbox({
    store: sqliteStore(`${aFolder()}/inbox.db`),
    sources: {
      stripe: stripe({ secrets: [SECRET] }),
      open: unsigned({ verify: 'none', key: 'body' }),
    },
  })
}

function aDelivery(headers: Delivery['headers']): Delivery {
  return {
    method: 'POST',
    url: '/in/stripe',
    headers,
    body: new Uint8Array(),
    receivedAt: new Date(),
  }
}
