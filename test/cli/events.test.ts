import { describe, expect, onTestFinished, test } from 'vitest'
import { displayWidth } from '../../src/cli/output/display-width.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { hubspot } from '../../src/providers/index.ts'
import { sign, testInbox } from '../../src/testing/index.ts'
import type { EventFixture } from '../../src/testing/index.ts'
import { aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { anEventDraft } from '../support/builders.ts'
import { dead, done, recordOne } from '../support/store-steps.ts'

/** Clears the screen, sets the title, begins a C1 sequence, turns the direction of text around. */
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202egnp.exe\r\n\u0000end'
const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/

describe('hookonce events list', () => {
  test('lists the events that fit, newest first, with what went wrong', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, done, { key: 'evt_fine' })
    const stopped = await anEventThat(store, dead, { key: 'evt_stopped' })

    const all = await runCommand(['events', 'list', '--store', url])
    const some = await runCommand(['events', 'list', 'state:dead', 'text:no luck', '--store', url])

    expect(all.code).toBe(0)
    expect(all.lines[0]).toMatch(/^event +state +age +source +type +tries +key$/)
    expect(all.output.indexOf('evt_stopped')).toBeLessThan(all.output.indexOf('evt_fine'))
    expect(some.lines).toHaveLength(3)
    expect(some.lines[1]).toMatch(new RegExp(`^${stopped}  dead `))
    expect(some.lines[2]).toBe('  Error: no luck')
  })

  test.each([60, 80, 200])('fits into %i columns', async (columns) => {
    const { store, url } = await aStoreOnFile()
    const key = `evt_${'x'.repeat(90)}`
    const type = 'customer.subscription.pending_update_applied.with.a.long.tail'
    const id = await anEventThat(store, dead, { key, type, source: 'a-source-with-a-name' })
    await anEventThat(store, done, { key: 'evt_日本語のとても長い鍵', type: 'order.paid' })

    const { lines } = await runCommand(['events', 'list', '--store', url], { columns })

    expect(lines).toHaveLength(4)
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    expect(lines.join('\n')).toContain(id)
    expect(lines.join('\n')).toContain('…')
    expect(lines[0]).toContain('type')
    expect(lines[0]?.includes('key')).toBe(columns === 200)
  })

  test('is not made wide by the text of one stranger where no terminal is, either', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, done, { type: 'x'.repeat(1_000), key: 'y'.repeat(1_000) })
    const id = await anEventThat(store, done, { key: 'evt_2' })

    const { lines } = await runCommand(['events', 'list', '--store', url])

    for (const line of lines) expect(displayWidth(line)).toBeLessThan(350)
    expect(lines.join('\n')).toContain(id)
  })

  test('says as JSON what it says in a table, with every field', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const { output } = await runCommand(['events', 'list', '--store', url, '--json'])

    expect(JSON.parse(output)).toMatchObject({
      events: [{ id, state: 'dead', source: 'stripe', key: 'evt_1', nextRunAt: null }],
      cursor: null,
      lookedAt: 1,
    })
  })

  test('goes on from a cursor', async () => {
    const { store, url } = await aStoreOnFile()
    for (const key of ['evt_1', 'evt_2', 'evt_3']) await recordOne(store, anEventDraft({ key }))
    const list = (...more: string[]) =>
      runCommand(['events', 'list', '--limit', '2', '--store', url, ...more])

    const first = await list()
    const cursor = /--cursor (\S+)/.exec(first.errors)?.[1] ?? ''
    const second = await list('--cursor', cursor)

    expect(first.output).toContain('evt_3')
    expect(first.output).not.toContain('evt_1')
    expect(second.output).toContain('evt_1')
  })

  test('ends with 3 where nothing fits, and says what to do', async () => {
    const { url } = await aStoreOnFile()

    const none = await runCommand(['events', 'list', '--store', url])
    const unfitting = await runCommand(['events', 'list', 'state:dead', '--store', url])
    const json = await runCommand(['events', 'list', '--store', url, '--json'])

    expect(none).toMatchObject({ code: 3, output: '' })
    expect(none.errors).toContain('hookonce trigger sends one')
    expect(unfitting.errors).toContain('leave a term out')
    expect(json.code).toBe(3)
    expect(JSON.parse(json.output)).toMatchObject({ events: [] })
  })

  test('ends with 2 for a filter that cannot be read', async () => {
    const { url } = await aStoreOnFile()

    const unknown = await runCommand(['events', 'list', 'stat:dead', '--store', url])
    const state = await runCommand(['events', 'list', 'state:ded', '--store', url])
    const flag = await runCommand(['events', 'list', '--stoer', url])

    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.errors).toContain('did you mean "state"?')
    expect(state).toMatchObject({ code: 2 })
    expect(state.errors).toContain('dead')
    expect(flag).toMatchObject({ code: 2 })
    expect(flag.errors).toContain('--store')
  })

  test('ends with 4 where there is no database, and makes none', async () => {
    const { file } = await aStoreOnFile()

    const { code, errors } = await runCommand(['events', 'list', '--store', `sqlite:${file}.typo`])
    const again = await runCommand(['events', 'list', '--store', `sqlite:${file}.typo`])

    expect(code).toBe(4)
    expect(errors).toContain(`There is no database at ${file}.typo`)
    expect(again.code).toBe(4)
  })
})

describe('hookonce events show', () => {
  test('tells the story of an event, with exact times, and what can be done', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead, { body: '{"amount":1}' })

    const { code, output } = await runCommand(['events', 'show', id, '--store', url])

    expect(code).toBe(0)
    expect(output).toContain(`Event ${id}`)
    expect(output).toMatch(/received +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \(\d+ \w+ ago\)/)
    expect(output).toContain('Error: no luck')
    expect(output).toContain('"amount": 1')
    expect(output).toContain(`hookonce retry ${id}`)
  })

  test('says of one that is due that its source is paused, by whom and why', async () => {
    const { store, url } = await aStoreOnFile()
    const { eventId } = await recordOne(store, anEventDraft())
    const show = async () => (await runCommand(['events', 'show', eventId, '--store', url])).output
    const before = await show()

    await runCommand(['pause', 'source', 'stripe', '--reason', 'it moves', '--store', url])
    const paused = await show()

    expect(before).toContain(`hookonce retry ${eventId}`)
    expect(before).not.toContain('paused')
    expect(paused).toMatch(/paused +its source by on-call@example\.com, .* ago\): it moves/)
    expect(paused).toContain('hookonce pauses')
    expect(paused).not.toContain('hookonce retry')
  })

  test('counts what came after the delivery that brought it, of a conflict as well', async () => {
    const { store, url } = await aStoreOnFile()
    await recordOne(store, anEventDraft({ body: 'first' }))
    const { eventId } = await recordOne(store, anEventDraft({ body: 'second' }))
    const show = async () => (await runCommand(['events', 'show', eventId, '--store', url])).output
    await store.events.countDeliveries([{ eventId, outcome: 'conflict', count: 1 }])
    expect(await show()).not.toContain('delivered')

    await store.events.countDeliveries([{ eventId, outcome: 'conflict', count: 2 }])

    expect(await show()).toMatch(/delivered +2 more times/)
  })

  test('is colourful where there is a terminal for it, and nowhere else', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const plain = await runCommand(['events', 'show', id, '--store', url])
    const painted = await runCommand(['events', 'show', id, '--store', url], { hasColour: true })

    expect(plain.output).not.toContain('\u001b')
    expect(painted.output).toContain('\u001b[31mdead\u001b[39m')
  })

  test('ends with 3 for an event that is not here', async () => {
    const { url } = await aStoreOnFile()
    const id = '00000000-0000-7000-8000-000000000001'

    const { code, errors } = await runCommand(['events', 'show', id, '--store', url])

    expect(code).toBe(3)
    expect(errors).toContain('hookonce events find')
  })
})

describe('D10: what senders write', () => {
  const hostile = () => ({
    source: 'stripe',
    type: `t${HOSTILE}`,
    key: `k${HOSTILE}`.replace('\u0000', ''),
    headers: { 'content-type': `text/${HOSTILE.replaceAll(/[\r\n\0]/g, '')}` },
    body: JSON.stringify({ note: HOSTILE, [HOSTILE]: 1 }) + HOSTILE,
  })

  test.each([
    ['a table', ['events', 'list']],
    ['the failures', ['failures']],
    ['a JSON document', ['events', 'list', '--json']],
  ])('does not steer the terminal from %s', async (_, words) => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(
      store,
      (event) => ({ ...dead(event), reason: HOSTILE, failure: aHostileFailure() }),
      hostile(),
    )

    const { output, errors } = await runCommand([...words, '--store', url], { columns: 400 })

    expect(output).toContain('\\u001b[2J')
    expect(output).not.toMatch(STEERS)
    expect(errors).not.toMatch(STEERS)
  })

  test('does not steer it from the story of an event, its body or an error', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(
      store,
      (event) => ({ ...dead(event), reason: HOSTILE, failure: aHostileFailure() }),
      hostile(),
    )
    const run = (words: readonly string[]) =>
      runCommand([...words, '--store', url], { isInteractive: true })

    const shown = [
      await run(['events', 'show', id]),
      await run(['events', 'show', id, '--full']),
      await run(['events', 'show', id, '--json']),
      await run(['events', 'body', id]),
      // As `xargs` starts it: its input is no terminal.
      await runCommand(['events', 'body', id, '--store', url], { isTerminal: true }),
    ]
    const refused = [await run(['events', 'find', HOSTILE]), await run(['events', 'list', HOSTILE])]

    for (const { output } of shown) expect(output).toContain('\\u001b[2J')
    for (const { output, errors } of [...shown, ...refused])
      expect(`${output}${errors}`).not.toMatch(STEERS)
  })

  test('is written as it came where no terminal is there', async () => {
    const { store, url } = await aStoreOnFile()
    const { body, ...draft } = hostile()
    const id = await anEventThat(store, done, { ...draft, body })

    const { output } = await runCommand(['events', 'body', id, '--store', url])

    expect(Buffer.from(output, 'latin1').toString()).toBe(body)
  })
})

function aHostileFailure() {
  return {
    attempt: 1,
    reason: 'error',
    message: `Error: ${HOSTILE}`.replace('\u0000', ''),
    stack: `at ${HOSTILE}`.replace('\u0000', ''),
    durationMs: 1,
    handler: 'bill',
  } as const
}

test('an event can be found by the key of its sender', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, done, { key: 'evt_mine' })

  const found = await runCommand(['events', 'find', 'evt_mine', '--store', url])
  const missing = await runCommand(['events', 'find', 'evt_other', '--store', url])

  expect(found.output).toContain(id)
  expect(missing.code).toBe(3)
})

test('an event is exported as a fixture that the test kit reads, without what is secret', async () => {
  const { store, url } = await aStoreOnFile()
  const headers = { 'content-type': 'application/json', 'stripe-signature': 't=1,v1=00' }
  const id = await anEventThat(store, done, { headers, body: '{"amount":7}' })

  const { code, output } = await runCommand(['events', 'export', id, '--fixture', '--store', url])

  expect(code).toBe(0)
  expect(JSON.parse(output)).toMatchObject({
    format: 'hookonce-fixture/1',
    source: 'stripe',
    type: 'invoice.paid',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"amount":7}').toString('base64'),
  })
  expect(output).not.toContain('v1=00')
})

test('an event that came in a request with others is exported as that request', async () => {
  const { store, url } = await aStoreOnFile()
  const secret = 'a-secret-of-more-than-16-bytes'
  const publicUrl = 'https://example.com/in/hubspot'
  const inbox = createInbox({
    store,
    sources: { hubspot: hubspot({ secrets: [secret], publicUrl }) },
    worker: false,
  })
  await inbox.start()
  onTestFinished(() => inbox.stop())
  const type = 'contact.propertyChange'
  const sent = sign('hubspot', { type, at: new Date() }, { secret, publicUrl })
  const { eventId } = await inbox.receive('hubspot', sent)

  const exported = await runCommand([
    ...['events', 'export', eventId ?? 'none', '--fixture', '--store', url],
  ])
  const t = await testInbox({
    sources: { hubspot },
    handlers: (kit) => kit.on('hubspot', type, () => undefined),
  })
  onTestFinished(() => t.close())
  const again = await t.deliverFixture(JSON.parse(exported.output) as object)

  expect(exported.errors).toContain('this is the whole of it')
  expect(Buffer.from((JSON.parse(exported.output) as EventFixture).body, 'base64')).toEqual(
    Buffer.from(sent.body),
  )
  expect(again.answers.map((answer) => answer?.outcome)).toEqual(['accepted'])
})
