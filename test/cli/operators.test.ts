import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { recordKeys, sort } from '../support/lane-steps.ts'
import { claimOne, deadMessage, enqueue, unknownMessage } from '../support/outbox-steps.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { startCli } from '../support/run-cli.ts'
import { aFolder, aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { dead, done, recordOne, runOne } from '../support/store-steps.ts'

describe('hookonce groups', () => {
  test('says what is wrong, by what it has in common', async () => {
    const { store, url } = await aStoreOnFile()
    const none = await runCommand(['groups', '--store', url])
    for (const key of ['evt_1', 'evt_2']) await anEventThat(store, dead, { key })

    const { code, lines } = await runCommand(['groups', '--store', url, '--after', '1h'])
    const json = await runCommand(['groups', '--store', url, '--json'])

    expect(none).toMatchObject({ code: 3, errors: 'No event is dead. All is well.' })
    expect(code).toBe(0)
    expect(lines[1]).toMatch(/^2 /)
    expect(lines[2]).toBe('  Error: no luck')
    expect(JSON.parse(json.output)).toMatchObject({ groups: [{ count: 2 }], isComplete: true })
  })
})

test.each([
  [['audit', '--event', 'nosuch'], 3, 'No operator has done anything to the event nosuch.'],
  [['audit', '--cursor', 'x'], 2, '--cursor must be the id of the last one of the page before'],
  [['events', 'list', '--cursor', 'x'], 2, '--cursor must be the cursor of a page before'],
  [['groups', '--after', 'never'], 2, 'It must be how long ago, such as 2d'],
  [['pauses', '--url', 'nonsense'], 2, "--url must be the URL of a gateway's admin listener"],
  [
    ['verify', '--provider', 'stripe', '--secret', 'x', '--body', '/dev/null'],
    2,
    'hookonce: --provider: secrets[0] is shorter than 16 bytes',
  ],
  [
    ['verify', '--provider', 'strpe', '--secret', 'x', '--body', '/dev/null'],
    2,
    'did you mean "stripe"',
  ],
  [['reconcile', 'stripe', '--with', 'no.ts', '--since', '2d'], 2, '--with: the file no.ts cannot'],
  [['token', 'create', '--name', 'A B', '--role', 'viewer'], 2, '--name must be written with'],
  [['prune', '--force'], 2, '--force needs --reason'],
  [['pauses', '--token', 'x'], 2, '--token is for a running gateway, and none is named'],
  [
    ['resolve-step', 'x', 'charge', '--not-happened', '--result', '1'],
    2,
    '--result has no effect here: a call that has not happened has none',
  ],
  [
    ['reconcile', 'stripe', '--with', 'no.ts', '--since', '2d', '--reason', 'r'],
    2,
    '--reason has no effect here: nothing is replayed',
  ],
  [
    ['verify', '--provider', 'stripe', '--secret', 'x', '--body', '/dev/null', '--config', 'x'],
    2,
    '--config has no effect here: with --provider no config is read',
  ],
  [['doctor', '--source', 'stripe'], 2, '--source has no effect here: it is for a receiver'],
  [['doctor', '--option', 'publicUrl=x'], 2, '--option has no effect here: it is for a receiver'],
  [
    ['doctor', '--to', 'https://example.com/', '--provider', 'stripe'],
    2,
    '--store has no effect here: with --to only the receiver is checked',
  ],
  [['trigger', 'stripe', '--token', 'x'], 2, '--token has no effect here: it is for a gateway'],
  [
    ['trigger', 'stripe', '--url', 'http://127.0.0.1:1', '--store', 'sqlite:none.db'],
    2,
    '--url and --store or --config are not said together',
  ],
  [
    ['trigger', 'stripe', '--to', 'http://127.0.0.1:1/', '--port', '2'],
    2,
    '--port has no effect here: --to says where it is sent',
  ],
  [['retry', 'x', '--actor', ''], 2, '--actor must be a text'],
  [
    ['erase', '--source', 's', '--where', 'id=1', '--reason', 'r', '--yes'],
    2,
    '--where must be a path',
  ],
])('hookonce %j says what is wrong in the words of its flags', async (words, code, said) => {
  const { url } = await aStoreOnFile()
  const place = words.some((word) => ['--url', 'verify'].includes(word)) ? [] : ['--store', url]

  const result = await runCommand([...words, ...place])

  expect(result.code).toBe(code)
  expect(result.errors).toContain(said)
})

describe('hookonce pause', () => {
  test('keeps a source still, is listed, and is refused a second time', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, dead)
    const run = (...words: string[]) => runCommand([...words, '--store', url])

    const paused = await run('pause', 'source', 'stripe', '--reason', 'moving house')
    const again = await run('pause', 'source', 'stripe')
    const listed = await run('pauses')
    const resumed = await run('resume', 'source', 'stripe')
    const wrong = await run('pause', 'sauce', 'stripe')

    expect(paused).toMatchObject({ code: 0, output: 'source stripe is paused.', errors: '' })
    expect(again.code).toBe(1)
    expect(again.errors).toContain('PAUSED')
    expect(listed.output).toMatch(/source +stripe .* on-call@example.com\n {2}moving house/)
    expect(resumed.code).toBe(0)
    expect(wrong.code).toBe(2)
    expect(await run('pauses')).toMatchObject({ code: 3, errors: 'Nothing is paused.' })
  })

  test('asks whether the name is right when no event has it', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, dead)

    const paused = await runCommand(['pause', 'source', 'strpie', '--store', url])
    const destination = await runCommand(['pause', 'destination', 'receipt', '--store', url])

    expect(paused).toMatchObject({ code: 0, output: 'source strpie is paused.' })
    expect(paused.errors).toContain('Is its name right?')
    expect(destination).toMatchObject({ code: 0, output: 'destination receipt is paused.' })
    expect(destination.errors).toContain('None of the latest messages is for this destination.')
  })
})

test('lanes that stand still name what they wait for', async () => {
  const { store, url } = await aStoreOnFile()
  const [head] = await recordKeys(store, ['K1', 'K2', 'K3'])
  await sort(store)
  await runOne(store, dead, { kind: 'head' })

  const { lines } = await runCommand(['lanes', '--store', url])
  const json = await runCommand(['lanes', '--store', url, '--json'])
  const paused = await runCommand(['pause', 'lane', 'stripe/K', '--store', url])
  const halfNamed = await runCommand(['pause', 'lane', 'stripe', '--store', url])

  expect(lines[1]).toMatch(new RegExp(`^stripe/K +2 +`))
  expect(JSON.parse(json.output)).toMatchObject({
    lanes: [{ source: 'stripe', lane: 'K', waiting: 2, blockedBy: { eventId: head } }],
  })
  expect(paused.code).toBe(0)
  expect(halfNamed.code).toBe(2)
  expect(halfNamed.errors).toContain(
    'A lane is named by its source and its key, such as stripe/cus_9',
  )
})

test('messages that wait for a person are listed, shown, confirmed and discarded', async () => {
  const { store, url } = await aStoreOnFile()
  const run = (...words: string[]) => runCommand(['messages', ...words, '--store', url])
  const none = await run('list')
  await enqueue(store, { key: 'one' })
  const uncertain = await claimOne(store)
  await store.messages.settle([unknownMessage(uncertain)])
  await enqueue(store, { key: 'two' })
  const stopped = await claimOne(store)
  await store.messages.settle([deadMessage(stopped)])

  const listed = await run('list')
  const shown = await run('show', stopped.id)
  const confirmed = await run('confirm', uncertain.id)
  const unasked = await run('discard', stopped.id)
  const discarded = await run('discard', stopped.id, '--yes')
  const again = await run('retry', stopped.id, '--yes')
  const missing = await run('retry', 'nosuch', '--yes')

  expect(none.code).toBe(3)
  expect(listed.output).toContain(uncertain.id)
  expect(listed.output).toContain(stopped.id)
  expect(shown.output).toContain('receipts')
  expect(confirmed).toMatchObject({ code: 0, output: `${uncertain.id} counts as sent.` })
  expect(unasked.code).toBe(2)
  expect(discarded.code).toBe(0)
  expect(again.code).toBe(1)
  expect(again.errors).toContain('MESSAGE_STATE')
  expect(missing.code).toBe(3)
  expect(missing.errors).toContain('hookonce messages list destination:<name>')
})

describe('hookonce erase', () => {
  test('takes the bytes of one, or of all with a value', async () => {
    const { store, url } = await aStoreOnFile()
    const one = await anEventThat(store, done, { key: 'evt_1', body: '{"customer":"cus_1"}' })
    const two = await anEventThat(store, done, { key: 'evt_2', body: '{"customer":"cus_9"}' })
    const kept = await anEventThat(store, done, { key: 'evt_3', body: '{"customer":"cus_3"}' })
    const run = (...words: string[]) =>
      runCommand(['erase', ...words, '--reason', 'request 12', '--yes', '--store', url])

    const erased = await run(one)
    const where = await run('--source', 'stripe', '--where', '$.customer=cus_9')
    const both = await run(one, '--source', 'stripe', '--where', '$.customer=cus_9')
    const half = await run('--where', '$.customer=cus_9')

    expect(erased).toMatchObject({ code: 0, output: `${one} is erased.` })
    expect(where).toMatchObject({ code: 0 })
    expect(where.output).toContain('1 erased, 0 refused')
    expect([both.code, half.code]).toEqual([2, 2])
    const payloads = await Promise.all(
      [one, two, kept].map(async (id) => (await store.operators.findEvent(id))?.payload),
    )
    expect(payloads).toEqual(['erased', 'erased', 'kept'])
  })

  test('tells a person at a terminal that it is at work, and a program nothing', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, done, { body: '{"customer":"cus_1"}' })
    const words = ['erase', '--source', 'stripe', '--where', '$.customer=cus_9', '--yes']
    const erase = (isInteractive: boolean) =>
      runCommand([...words, '--reason', 'request 12', '--store', url], { isInteractive })

    expect((await erase(false)).progress).toEqual([])
    const { progress } = await erase(true)
    expect(progress[0]).toBe('looking through the events of stripe, 0 s')
    expect(progress.at(-1)).toBe('')
  })
})

test('prune is refused where it is not known how long things are kept', async () => {
  const { url } = await aStoreOnFile()

  const refused = await runCommand(['prune', '--store', url])
  const forced = await runCommand(['prune', '--force', '--yes', '--store', url])

  expect(refused.code).toBe(1)
  expect(refused.errors).toContain('RETENTION_UNKNOWN')
  expect(forced.code).toBe(2)
  expect(forced.errors).toContain('--force needs --reason')
  expect(forced.questions).toEqual([])
})

test('the audit goes on where the page before has ended', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, dead, { key: 'evt_1' })
  await runCommand(['retry', id, '--reason', 'back', '--store', url])
  await runCommand(['discard', id, '--reason', 'gone', '--yes', '--store', url])
  const audit = (...words: string[]) => runCommand(['audit', ...words, '--store', url])
  const all = JSON.parse((await audit('--json')).output) as readonly { readonly id: string }[]

  const first = await audit('--limit', '1')
  const rest = await audit('--cursor', all[0]!.id, '--json')

  expect(all).toHaveLength(2)
  expect(`${first.output}${first.errors}`).toContain(`--cursor ${all[0]!.id}`)
  expect(JSON.parse(rest.output)).toEqual(all.slice(1))
})

test('stats, workers, audit and secrets say how things stand', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, dead, { key: 'evt_1' })
  await recordOne(store, anEventDraft({ key: 'evt_2' }))
  await runCommand(['retry', id, '--reason', 'back', '--store', url])
  const run = (...words: string[]) => runCommand([...words, '--store', url])

  const stats = await run('stats')
  const json = await run('stats', '--json')
  const audit = await run('audit', '--event', id)

  expect(stats.output).toMatch(/ready +2/)
  expect(stats.output).toMatch(/workers +1/)
  expect(JSON.parse(json.output)).toMatchObject({ states: { ready: { count: 2, isExact: true } } })
  expect(audit.output).toMatch(/on-call@example.com +retry +event /)
  expect((await run('workers')).output).toContain('worker-1  seen ')
  expect(await run('secrets')).toMatchObject({ code: 3 })
})

test('an empty store says that nothing runs', async () => {
  const { url } = await aStoreOnFile()

  const stats = await runCommand(['stats', '--store', url])
  const workers = await runCommand(['workers', '--store', url])

  expect(stats.output).toContain('none: nothing runs')
  expect(workers.code).toBe(3)
  expect(workers.errors).toContain('hookonce start --role work')
})

test('tail prints an event when it comes and when it changes, and ends when it is told to', async () => {
  const { store, url } = await aStoreOnFile()
  const old = await anEventThat(store, done, { key: 'evt_old' })
  const interruption = new AbortController()
  const steps: (() => unknown)[] = [
    () => recordOne(store, anEventDraft({ key: 'evt_new' })),
    () => runOne(store, dead),
    () => interruption.abort(),
  ]

  const { code, lines } = await runCommand(['tail', '--json', '--store', url], {
    interrupted: interruption.signal,
    onPrint: () => void steps.shift()?.(),
  })

  const told = lines.map((line) => JSON.parse(line) as { id: string; key: string; state: string })
  expect(told.map(({ key, state }) => [key, state])).toEqual([
    ['evt_old', 'done'],
    ['evt_new', 'ready'],
    ['evt_new', 'dead'],
  ])
  expect(told[0]?.id).toBe(old)
  expect(code).toBe(0)
})

test('tail fits the terminal, with what went wrong below the event', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, dead, { key: `evt_${'x'.repeat(90)}` })
  const interruption = new AbortController()

  const { lines } = await runCommand(['tail', '--store', url], {
    columns: 80,
    interrupted: interruption.signal,
    onPrint: () => interruption.abort(),
  })

  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain(`${id}  dead  `)
  expect(lines[0]).toHaveLength(80)
  expect(lines[1]).toBe('  Error: no luck')
})

test('tail has the id on a line of its own where the terminal is narrow', async () => {
  const { store, url } = await aStoreOnFile()
  const id = await anEventThat(store, done, { key: 'evt_1' })
  const interruption = new AbortController()

  const { lines } = await runCommand(['tail', '--store', url], {
    columns: 60,
    interrupted: interruption.signal,
    onPrint: () => interruption.abort(),
  })

  expect(lines[0]).toMatch(/Z {2}done {7}\S+ \S+ evt_1$/)
  expect(lines[1]).toBe(`  ${id}`)
})

test('what is said of an event, and that there is none, is broken between words', async () => {
  const { store, url } = await aStoreOnFile()
  const reason = 'the shop has no invoice of that number, and none that was voided'
  const id = await anEventThat(store, (event) => ({ ...dead(event), reason }))

  const story = await runCommand(['events', 'show', id, '--store', url], { columns: 60 })
  const none = await runCommand(['events', 'list', 'text:bar', '--store', url], { columns: 60 })

  const at = story.lines.findIndex((line) => line.startsWith('  reason'))
  expect(story.lines[at + 1]).toMatch(/^ {15,}\S/)
  for (const line of [story.lines[at]!, ...none.errors.split('\n')])
    expect(line.length).toBeLessThanOrEqual(60)
  expect(none.errors).toContain('or see\nhookonce stats.')
})

test.each(['migrate', 'prune'])('%s tells a person at a terminal that it works', async (name) => {
  const { url } = await aStoreOnFile()

  const shown = await runCommand([name, '--store', url], { isInteractive: true })
  const unseen = await runCommand([name, '--store', url])

  expect(shown.progress[0]).toMatch(/, 0 s$/)
  expect(shown.progress.at(-1)).toBe('')
  expect(unseen.progress).toEqual([])
})

test('migrate makes a store, and prints how', async () => {
  const folder = aFolder()
  const store = ['--store', 'sqlite:data/inbox.db']

  const before = await runCommand(['stats', ...store], { folder })
  const made = await runCommand(['migrate', ...store], { folder })
  const printed = await runCommand(['migrate', '--print', '--store', 'postgres://'])

  expect(before.code).toBe(4)
  expect(before.errors).toContain('hookonce migrate makes this one')
  expect(made.code).toBe(0)
  expect(await runCommand(['stats', ...store], { folder })).toMatchObject({ code: 0 })
  expect(printed.output).toContain('create table')
})

test('sources and providers are listed, without secrets', async () => {
  const folder = aFolder()
  const sources = { shop: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ sources }))

  const listed = await runCommand(['sources'], { folder })
  const providers = await runCommand(['sources', 'providers'])

  expect(listed.lines[1]).toMatch(/^shop +stripe +\/in\/shop +nothing +1$/)
  expect(listed.output).not.toContain('0123456789abcdef')
  expect(providers.lines).toContain('github')
  expect(providers.lines).toContain('hmac')
})

test.skipIf(hasNoPostgres)('a process does the same on PostgreSQL', async () => {
  const { host, port, user, password = '', database } = await createPostgresDatabase()
  const url = `postgres://${user}:${password}@localhost:${port}/${database}?host=${host}`
  const folder = aFolder()
  const env = { DATABASE_URL: url, COLUMNS: '60' }

  const cli = startCli(['stats', '--store', 'env:DATABASE_URL'], { folder, env })
  const gone = await cli.gone
  const missing = await runCommand(['events', 'list', '--store', url])

  expect([gone.code, cli.errors()]).toEqual([0, ''])
  expect(cli.output()).toContain('Events\n  none')
  expect(missing.code).toBe(3)
})
