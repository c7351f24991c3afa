import { describe, expect, test } from 'vitest'
import { dropbox } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const secret = 'the app secret of ours'
const source = dropbox({ secrets: [secret] })
const NOW = 1_760_000_000_000

function identify(body: unknown, ms = 0) {
  const events = source.identify(sign('dropbox', { body, at: new Date(NOW + ms) }, { secret }))
  return events.map(({ key, type, body: own }) => ({ key, type, body: own && String(own) }))
}

describe('Dropbox', () => {
  test('makes an event of every account, with a body of the shape of a request', () => {
    const events = identify({
      list_folder: { accounts: ['dbid:A', 'dbid:"B'] },
      delta: { users: [1, 2] },
    })

    expect(events).toEqual([
      {
        key: `dbid:A|${NOW}`,
        type: 'list_folder',
        body: '{"list_folder":{"accounts":["dbid:A"]}}',
      },
      {
        key: `dbid:"B|${NOW}`,
        type: 'list_folder',
        body: '{"list_folder":{"accounts":["dbid:\\"B"]}}',
      },
    ])
  })

  test('never takes two equal signals for one', () => {
    const body = { list_folder: { accounts: ['dbid:A'] } }

    expect(identify(body, 1)[0]?.key).not.toBe(identify(body)[0]?.key)
    expect(source.sameBytes).toBe('run')
  })

  test.each([
    [{ list_folder: { accounts: ['dbid:A'], teams: { t: ['dbid:B'] } } }, 'list_folder'],
    [{ list_folder: { accounts: ['dbid:A'] }, file_requests: {} }, 'list_folder'],
    [{ list_folder: { accounts: [1] } }, 'list_folder'],
    [{ delta: { users: [1] } }, 'delta'],
  ])('keeps %j whole, so that nothing of it is lost', (body, type) => {
    const events = identify(body)

    expect(events).toEqual([
      { key: expect.stringMatching(/^[0-9a-f]{64}\|\d+$/), type, body: undefined },
    ])
    expect(identify({ ...body, more: 1 })[0]?.key).not.toBe(events[0]?.key)
    expect(identify(body, 1)[0]?.key).not.toBe(events[0]?.key)
  })
})
