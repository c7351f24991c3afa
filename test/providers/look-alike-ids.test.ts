import { describe, expect, test } from 'vitest'
import type { Source } from '../../src/model/source.ts'
import {
  bitbucket,
  figma,
  linear,
  netlify,
  pagerduty,
  sentry,
  trello,
} from '../../src/providers/index.ts'

/** What looks like an event's id and is not, and what takes its place. */
describe('an event is not known by what only looks like its id', () => {
  const secrets = ['a-secret-that-is-long-enough']

  test('bitbucket: the id of the webhook', () => {
    const source = bitbucket({ secrets })
    const headers = { 'x-hook-uuid': 'hook', 'x-event-key': 'repo:push' }

    expect(identify(source, {}, headers).key).toBeUndefined()
    expect(identify(source, {}, { ...headers, 'x-request-uuid': 'a' }).key).toBe('a')
  })

  test('linear: the id of the webhook', () => {
    const source = linear({ secrets })
    const body = { webhookId: 'same', type: 'Issue', action: 'update' }
    const keys = ['a', 'b'].map((id) => identify(source, body, { 'linear-delivery': id }).key)

    expect(keys).toEqual(['a', 'b'])
    expect(identify(source, body).key).toBeUndefined()
  })

  test('netlify: the id of the deploy', () => {
    const source = netlify({ secrets })
    const body = { id: 'deploy', state: 'ready', updated_at: '2025-10-09T08:53:20.000Z' }
    const named = (name: string, change = {}) =>
      identify(source, { ...body, ...change }, { 'x-netlify-event': name }).key

    expect(
      new Set([
        named('deploy_created'),
        named('deploy_locked'),
        named('deploy_locked', { state: 'error' }),
        named('deploy_locked', { updated_at: '2025-10-09T08:53:21.000Z' }),
      ]).size,
    ).toBe(4)
    expect(source.sameBytes).toBe('quarantine')
  })

  test('pagerduty: the id of the webhook’s delivery', () => {
    const source = pagerduty({ secrets })
    const [one, two] = ['a', 'b'].map((id) =>
      identify(source, { event: { id: 'event' } }, { 'x-webhook-id': id }),
    )

    expect(one).toEqual(two)
    expect(one?.key).toBe('event')
  })

  test('trello: the id of the action, which comes by several webhooks', () => {
    const source = trello({ secrets, publicUrl: 'https://example.com/in/trello' })
    const action = { id: 'action', type: 'updateCard' }
    const keys = [
      { webhook: { id: 'w1' }, model: { id: 'm1' } },
      { webhook: { id: 'w2' }, model: { id: 'm1' } },
      { model: { id: 'm1' } },
      {},
    ].map((rest) => identify(source, { action, ...rest }).key)

    expect(keys).toEqual(['w1|action', 'w2|action', 'm1|action', '|action'])
    expect(identify(source, { webhook: { id: 'w1' } }).key).toBeUndefined()
  })

  test('figma: the id of the webhook, and the time', () => {
    const source = figma({ secrets })
    const body = { webhook_id: '22', event_type: 'LIBRARY_PUBLISH', timestamp: 't', file_key: 'f' }
    const published = (rest: object) => identify(source, { ...body, ...rest }).key

    expect(published({ created_styles: [1] })).not.toBe(published({ created_components: [1] }))
    expect(published({ created_styles: [1], retries: 0, passcode: 'old' })).toBe(
      published({ created_styles: [1], retries: 2, passcode: 'new' }),
    )
    expect(published({ event_type: 'FILE_UPDATE', x: 1 })).toBe(
      published({ event_type: 'FILE_UPDATE', x: 2 }),
    )
    expect(published({ timestamp: undefined })).toBeUndefined()
  })

  test('sentry: the id of the request, but for what has no other and may happen again', () => {
    const source = sentry({ secrets })
    const sent = (resource: string, action: string, data: object, id: string) =>
      identify(source, { action, data, installation: { uuid: 'i' } }, headersOf(resource, id)).key
    const headersOf = (resource: string, id: string) => ({
      'sentry-hook-resource': resource,
      'request-id': id,
    })

    const rows = [
      ['error', 'created', { error: { project: 1, event_id: '7' } }],
      ['event_alert', 'triggered', { event: { project: 1, event_id: '7' }, triggered_rule: 'a' }],
      ['event_alert', 'triggered', { event: { project: 1, event_id: '7' }, triggered_rule: 'b' }],
      ['issue', 'created', { issue: { id: '7' } }],
      ['comment', 'created', { comment_id: '7' }],
      ['comment', 'deleted', { comment_id: '7' }],
      ['installation', 'deleted', { installation: { uuid: '7' } }],
    ] as const
    const keys = rows.map(([resource, action, data]) => sent(resource, action, data, 'first'))
    expect(new Set(keys).size).toBe(rows.length)
    expect(rows.map(([resource, action, data]) => sent(resource, action, data, 'retry'))).toEqual(
      keys,
    )

    expect(sent('issue', 'resolved', { issue: { id: '7' } }, 'first')).toBe('first')
    expect(sent('comment', 'updated', { comment_id: '7' }, 'first')).toBe('first')
    expect(source.sameBytes).toBe('quarantine')
  })
})

function identify(source: Source, body: object, headers: Readonly<Record<string, string>> = {}) {
  const events = source.identify({
    method: 'POST',
    url: '/',
    headers,
    body: Buffer.from(JSON.stringify(body)),
    receivedAt: new Date(1_760_000_000_000),
  })
  return events[0] ?? { key: 'none' }
}
