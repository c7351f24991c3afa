/**
 * Providers without an event id, and what their keys tell apart.
 *
 * @module
 */

import { describe, expect, test } from 'vitest'
import {
  bigcommerce,
  calCom,
  calendly,
  docusign,
  recurly,
  typeform,
  xero,
} from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { post, NOW, only } from './bare-delivery.ts'

const SECRET = 'a-secret-of-forty-bytes-or-thereabouts-0'
const secrets = [SECRET]

describe('xero', () => {
  const source = xero({ secrets })
  const event = {
    resourceId: 'r',
    tenantId: 't',
    eventCategory: 'INVOICE',
    eventType: 'UPDATE',
    eventDateUtc: '2025-10-09T08:53:20.000',
  }

  test('events are counted from the first, past what a number holds', () => {
    const body = `{"events":[${JSON.stringify(event)},${JSON.stringify({ ...event, resourceId: 's' })}],"firstEventSequence":9007199254740993}`

    expect(source.identify(post(body)).map(({ sequence }) => sequence)).toEqual([
      '9007199254740993',
      '9007199254740994',
    ])
  })

  test('the same event in another place of another delivery is known', () => {
    const [first] = source.identify(
      post(JSON.stringify({ events: [event], firstEventSequence: 1 })),
    )
    const again = source.identify(
      post(JSON.stringify({ events: [{ ...event, tenantId: 'u' }, event], firstEventSequence: 8 })),
    )

    expect(again[1]).toMatchObject({ key: first?.key, scope: 't', type: 'INVOICE.UPDATE' })
    expect(again[0]).toMatchObject({ key: first?.key, scope: 'u' })
    expect(first?.occurredAt).toEqual(NOW)
  })

  test('answers have no body', () => {
    expect(source.success).toEqual({ status: 200, body: 'empty' })
    expect(source.refusal).toEqual({ status: 401, body: 'empty' })
  })

  test('a delivery with events is no intent to receive', async () => {
    const body = JSON.stringify({ events: [event], firstEventSequence: 0, lastEventSequence: 0 })

    expect(await source.handshake?.(post(body), 'verified')).toBeUndefined()
  })
})

describe('docusign', () => {
  const source = docusign({ secrets })
  const signed = sign('docusign', { at: NOW }, { secret: SECRET })
  const signature = signed.headers['x-docusign-signature-1'] as string

  test.each([1, 2, 9, 100])('a signature in header %i of as many is found', async (place) => {
    const headers = Object.fromEntries(
      Array.from({ length: place }, (_, index) => [
        `x-docusign-signature-${index + 1}`,
        index + 1 === place ? signature : Buffer.alloc(32, index).toString('base64'),
      ]),
    )

    expect(await source.verify({ ...signed, headers })).toMatchObject({ ok: true })
  })

  test('a header past the hundredth is not read', async () => {
    const headers = { 'x-docusign-signature-101': signature }

    expect(await source.verify({ ...signed, headers })).toEqual({
      ok: false,
      reason: 'missing-header',
    })
  })

  test('recipients, times and configurations are told apart', () => {
    const base = {
      event: 'recipient-completed',
      generatedDateTime: '2025-10-09T08:53:20.0000000Z',
      configurationId: 1,
      data: { envelopeId: 'e', recipientId: '1' },
    }
    const keys = [
      base,
      { ...base, event: 'recipient-sent' },
      { ...base, configurationId: 2 },
      { ...base, generatedDateTime: '2025-10-09T08:53:20.0000001Z' },
      { ...base, data: { envelopeId: 'e', recipientId: '2' } },
      { ...base, data: { envelopeId: 'f', recipientId: '1' } },
      { ...base, data: {}, uri: '/restapi/v2.1/accounts/a/templates/t' },
    ].map((one) => only(source, post(JSON.stringify(one))).key)

    expect(new Set(keys).size).toBe(7)
    expect(only(source, post(JSON.stringify(base))).occurredAt).toEqual(NOW)
  })

  test('an aggregate message is known by its status, and XML by nothing', () => {
    const aggregate =
      '{"envelopeId":"e","status":"completed","statusChangedDateTime":"2025-10-09T08:53:20Z"}'

    expect(only(source, post(aggregate))).toMatchObject({
      key: 'e|completed|2025-10-09T08:53:20Z',
      type: 'envelope-completed',
    })
    expect(only(source, post('<DocuSignEnvelopeInformation/>'))).toEqual({
      key: undefined,
      type: 'unknown',
    })
  })
})

describe('calendly', () => {
  const source = calendly({ secrets })

  test('a booking, its cancellation and a later change are three events', () => {
    const keys = [
      { event: 'invitee.created', payload: { uri: 'u', updated_at: '1' } },
      { event: 'invitee.canceled', payload: { uri: 'u', updated_at: '1' } },
      { event: 'invitee.created', payload: { uri: 'u', updated_at: '2' } },
      { event: 'routing_form_submission.created', payload: { uri: 'u' } },
    ].map((one) => only(source, post(JSON.stringify(one))).key)

    expect(new Set(keys).size).toBe(4)
  })

  test('a window of three minutes on both sides', async () => {
    const delivery = sign('calendly', { at: NOW }, { secret: SECRET })
    const at = async (seconds: number) =>
      (await source.verify({ ...delivery, receivedAt: new Date(NOW.getTime() + seconds * 1000) }))
        .ok

    expect([await at(-181), await at(-180), await at(180), await at(181)]).toEqual([
      false,
      true,
      true,
      false,
    ])
  })
})

describe('cal_com', () => {
  const source = calCom({ secrets })
  const keyOf = (body: object) => only(source, post(JSON.stringify(body))).key

  test('a meeting’s end has its booking’s members on top', () => {
    expect(keyOf({ triggerEvent: 'MEETING_ENDED', uid: 'b', createdAt: 'c' })).toBe(
      'MEETING_ENDED|b|c',
    )
  })

  test('what is about no booking is known by its payload', () => {
    const form = (value: string) =>
      keyOf({ triggerEvent: 'FORM_SUBMITTED', createdAt: 'c', payload: { value } })

    expect(form('a')).toBe(form('a'))
    expect(form('a')).not.toBe(form('b'))
  })

  test('a template without what a key needs leaves none', () => {
    expect(keyOf({ title: 'Hello' })).toBeUndefined()
    expect(only(source, post('title=Hello')).key).toBeUndefined()
  })
})

describe('others', () => {
  test('bigcommerce: one body under two ids is one event, if it says when it happened', () => {
    const source = bigcommerce({ secrets })

    expect(source.sameBytes).toBe('duplicate')
    const timed = sign('bigcommerce', { at: NOW }, { secret: SECRET })
    expect(only(source, timed)).not.toHaveProperty('content')
    const untimed = ['1', '2'].map((id) => only(source, post('{"hash":"h"}', { 'webhook-id': id })))
    expect(untimed[0]?.content).not.toEqual(untimed[1]?.content)
  })

  test('bigcommerce: there is no public key to give', () => {
    expect(() => bigcommerce({ secrets, publicKey: 'whpk_x' } as never)).toThrow(/publicKey/)
  })

  test('recurly: the object’s id is not the event’s', () => {
    const source = recurly({ secrets })
    const keys = [
      { id: 'o', object_type: 'account', event_type: 'created', event_time: '1' },
      { id: 'o', object_type: 'account', event_type: 'updated', event_time: '1' },
      { id: 'o', object_type: 'account', event_type: 'updated', event_time: '2' },
      { id: 'o', object_type: 'invoice', event_type: 'updated', event_time: '2' },
    ].map((one) => only(source, post(JSON.stringify(one))).key)

    expect(new Set(keys).size).toBe(4)
  })

  test('typeform: two parts of one response are two events', () => {
    const keys = ['1', '2'].map(
      (key) => only(typeform({ secrets }), sign('typeform', { key }, { secret: SECRET })).key,
    )

    expect(keys).toEqual(['1', '2'])
  })
})
