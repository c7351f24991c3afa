import { describe, expect, test } from 'vitest'
import { aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { anEventDraft } from '../support/builders.ts'
import { dead, done, recordOne } from '../support/store-steps.ts'

const UNKNOWN = '00000000-0000-7000-8000-000000000001'

describe('hookonce retry', () => {
  test('makes a dead event ready, and the audit says who and why', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const { code, output } = await runCommand(['retry', id, '--reason', 'back', '--store', url])

    expect(code).toBe(0)
    expect(output).toBe(`${id} is ready to run.`)
    expect(await store.operators.findEvent(id)).toMatchObject({ state: 'ready', attempts: 0 })
    expect(await store.operators.listAudit({ limit: 10 })).toMatchObject([
      { action: 'retry', actor: 'on-call@example.com', reason: 'back' },
    ])
  })

  test('is refused for an event that is done, with what to do instead', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, done)

    const refused = await runCommand(['retry', id, '--store', url])
    const json = await runCommand(['retry', id, '--store', url, '--json'])

    expect(refused.code).toBe(1)
    expect(refused.errors).toContain('EVENT_DONE')
    expect(refused.errors).toContain('Replay it, if it must run once more.')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.output)).toMatchObject([
      { subject: id, status: 'refused', code: 'EVENT_DONE' },
    ])
  })

  test('does what it can of several, and ends with 3 where there is none of them', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const some = await runCommand(['retry', id, UNKNOWN, '--store', url])
    const none = await runCommand(['retry', UNKNOWN, '--store', url])

    expect(some.code).toBe(1)
    expect(some.output).toContain(id)
    expect(some.errors).toContain(UNKNOWN)
    expect(none.code).toBe(3)
    expect(await store.operators.findEvent(id)).toMatchObject({ state: 'ready' })
  })

  test('under a token that was said before changes nothing', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)
    const retry = () => runCommand(['retry', id, '--request-token', 'one', '--store', url])

    await retry()
    const again = await retry()

    expect(again.code).toBe(0)
    expect(await store.operators.listAudit({ limit: 10 })).toHaveLength(1)
  })
})

describe('what cannot be undone', () => {
  const discard = (id: string, url: string) => ['discard', id, '--reason', 'a test', '--store', url]

  test('needs --yes where there is no terminal', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const refused = await runCommand(discard(id, url))
    const before = await store.operators.findEvent(id)
    const meant = await runCommand([...discard(id, url), '--yes'])

    expect(refused.code).toBe(2)
    expect(refused.errors).toContain('say --yes')
    expect(before).toMatchObject({ state: 'dead' })
    expect(meant.code).toBe(0)
    expect(await store.operators.findEvent(id)).toMatchObject({ state: 'discarded' })
  })

  test.each([
    ['y', 0, 'discarded'],
    ['', 1, 'dead'],
    ['no', 1, 'dead'],
  ])('is asked for on one: %o', async (answer, code, state) => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const asked = await runCommand(discard(id, url), { isInteractive: true, answers: [answer] })

    expect(asked.questions).toEqual([`Discard event ${id} for good? [y/N] `])
    expect(asked.code).toBe(code)
    expect(await store.operators.findEvent(id)).toMatchObject({ state })
  })

  test('needs a reason where nothing else could explain it later', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, dead)

    const { code, errors } = await runCommand(['discard', id, '--yes', '--store', url])

    expect(code).toBe(2)
    expect(errors).toContain('--reason')
    expect(await store.operators.findEvent(id)).toMatchObject({ state: 'dead' })
  })
})

test('replay, release and forget are the actions of an operator', async () => {
  const { store, url } = await aStoreOnFile()
  const ended = await anEventThat(store, done, { key: 'evt_done' })
  const forgotten = await anEventThat(store, done, { key: 'evt_forgotten' })
  const parked = await recordOne(store, anEventDraft({ key: undefined }))
  const id = 'eventId' in parked ? parked.eventId : ''
  const run = (...words: string[]) => runCommand([...words, '--yes', '--store', url])

  const results = [
    await run('replay', ended, '--reason', 'rows were lost'),
    await run('forget', forgotten),
    await run('release', id, '--reason', 'looked at it'),
  ]

  expect(results.map(({ code, errors }) => [code, errors])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ])
  expect(results[1]?.output).toMatch(/Have it sent after \d{4}-/)
  expect(await store.operators.findEvent(ended)).toMatchObject({ state: 'ready' })
  expect(await store.operators.findEvent(id)).toMatchObject({ state: 'ready' })
  expect(await store.operators.listRuns(ended)).toMatchObject([{ reason: 'rows were lost' }])
})

test('a step is resolved with one of two words, and not with both', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, dead)
  const resolve = (...words: string[]) =>
    runCommand(['resolve-step', id, 'charge', ...words, '--store', url])

  expect(await resolve()).toMatchObject({ code: 2 })
  expect(await resolve('--happened', '--not-happened')).toMatchObject({ code: 2 })
  expect(await resolve('--happened', '--result', '{')).toMatchObject({ code: 2 })
  const refused = await resolve('--not-happened')
  expect(refused.code).toBe(1)
  expect(refused.errors).toContain('STEP_CERTAIN')
})
