import { describe, expect, test } from 'vitest'
import { drawBar } from '../../src/cli/follow-bulk.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { until } from '../support/faults/until.ts'
import { startCli } from '../support/run-cli.ts'
import { aFolder, aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { claimMessages, deadMessage, enqueue, listMessages } from '../support/outbox-steps.ts'
import { dead } from '../support/store-steps.ts'
import type { QueryTx } from '../support/store-under-test.ts'

const FAST = ['--rate', '1000']

describe('hookonce bulk', () => {
  test('shows its plan, asks, and acts on each event once', async () => {
    const { store, url } = await aStoreOnFile()
    await fill(store, 12)

    const { code, lines, questions, progress } = await runCommand(
      ['bulk', 'retry', 'source:stripe', ...FAST, '--store', url],
      { isInteractive: true, answers: ['y'] },
    )

    expect(code).toBe(0)
    expect(lines[0]).toMatch(/^Bulk [0-9a-f-]{36}: retry 12 events$/)
    expect(lines).toContain('… and 2 more')
    expect(lines.at(-1)).toBe('12 done')
    expect(questions).toEqual(['retry 12 events? [y/N] '])
    expect(progress.at(-1)).toBe('')
    expect(await countStates(store)).toEqual({ ready: 12 })
  })

  test('does nothing without a yes', async () => {
    const { store, url } = await aStoreOnFile()
    await fill(store, 2)
    const words = ['bulk', 'retry', '--store', url]

    const refused = await runCommand(words)
    const declined = await runCommand(words, { isInteractive: true, answers: ['n'] })
    const dry = await runCommand([...words, '--dry-run'])

    expect([refused.code, declined.code, dry.code]).toEqual([2, 1, 0])
    expect(dry.output).toContain('Nothing was done.')
    expect(await countStates(store)).toEqual({ dead: 2 })
  })

  test('ends with 3 where no event fits', async () => {
    const { url } = await aStoreOnFile()

    const { code } = await runCommand(['bulk', 'retry', '--yes', '--store', url])
    const unknown = await runCommand([
      'bulk',
      'resume',
      '00000000-0000-7000-8000-000000000001',
      '--store',
      url,
    ])

    expect(code).toBe(3)
    expect(unknown.code).toBe(3)
  })

  test('that was killed halfway goes on with what is left, and each event was retried once', async () => {
    const { store, url } = await aStoreOnFile()
    await fill(store, 40)
    const words = ['bulk', 'retry', '--yes', '--rate', '1', '--store', url]
    const cli = startCli(words, { folder: aFolder() })
    const retried = async () => {
      const audit = await store.operators.listAudit({ limit: 100 })
      return audit.filter(({ subject }) => subject.kind === 'event').length
    }
    await until('some are retried', async () => (await retried()) >= 3)
    cli.kill('SIGKILL')
    await cli.gone
    const id = /^Bulk (\S+):/.exec(cli.output())?.[1] ?? ''

    const halfway = await store.bulks.find(id)
    const resumed = await runCommand(['bulk', 'resume', id, ...FAST, '--store', url, '--json'])
    const shown = await runCommand(['bulk', 'show', id, '--store', url])

    expect(halfway?.left).toBeGreaterThan(0)
    expect(resumed.code).toBe(0)
    expect(JSON.parse(resumed.output)).toMatchObject({ end: 'finished', done: 40, left: 0 })
    expect(shown.output).toContain('40 done')
    expect(await countStates(store)).toEqual({ ready: 40 })
    const audit = await store.operators.listAudit({ limit: 100 })
    const subjects = audit.flatMap(({ subject }) => (subject.kind === 'event' ? subject.id : []))
    expect(subjects).toHaveLength(40)
    expect(new Set(subjects).size).toBe(40)
  })

  test('lists those that have events left', async () => {
    const { store, url } = await aStoreOnFile()
    const list = ['bulk', 'list', '--store', url]
    const nothing = await runCommand(list)
    await fill(store, 3)
    const ended = await runCommand(['bulk', 'retry', '--yes', ...FAST, '--store', url])
    await fill(store, 2, 'github')
    const hostile = 'fixed\u001b[2J'
    await runCommand(['bulk', 'retry', '--dry-run', '--reason', hostile, '--store', url])

    const { code, lines } = await runCommand(list)
    const all = await runCommand([...list, '--all', '--json'])

    expect([nothing.code, nothing.errors]).toEqual([3, 'No bulk has anything left.'])
    expect(ended.code).toBe(0)
    expect(code).toBe(0)
    expect(lines).toEqual([
      expect.stringMatching(/^id +action +state +left +age +by$/),
      expect.stringMatching(/^[0-9a-f-]{36} +retry +planned +2 of 2 +.*on-call@example.com$/),
      '  fixed\\u001b[2J',
    ])
    expect(JSON.parse(all.output)).toMatchObject([{ left: 2 }, { left: 0, done: 3 }])
  })

  test('that is interrupted says how to go on, and one that was aborted does not', async () => {
    const { store, url } = await aStoreOnFile()
    await fill(store, 20)
    const interruption = new AbortController()

    const running = runCommand(['bulk', 'retry', '--yes', '--rate', '1', '--store', url], {
      interrupted: interruption.signal,
      onPrint: () => interruption.abort(),
    })
    const { code, errors } = await running
    const id = /bulk resume (\S+)/.exec(errors)?.[1] ?? ''
    const aborted = await runCommand(['bulk', 'abort', id, '--store', url])
    const resumed = await runCommand(['bulk', 'resume', id, '--store', url])

    expect(code).toBe(1)
    expect(aborted.code).toBe(0)
    expect(resumed.code).toBe(1)
    expect(resumed.errors).toContain('BULK_ABORTED')
  })

  test('sends dead messages again, and drops them, as it does with events', async () => {
    const { store, url } = await aStoreOnFile()
    await enqueue(store, { key: 'k1' }, { key: 'k2' }, { key: 'k3', destination: 'crm' })
    await store.messages.settle((await claimMessages(store)).map((one) => deadMessage(one)))
    const words = ['destination:receipts', ...FAST, '--store', url]

    const retried = await runCommand(['bulk', 'retry-messages', '--yes', ...words])
    await store.messages.settle((await claimMessages(store)).map((one) => deadMessage(one)))
    const dropped = await runCommand(
      ['bulk', 'discard-messages', '--reason', 'out of date', ...words],
      { isInteractive: true, answers: ['y'] },
    )
    const without = await runCommand(['bulk', 'discard-messages', ...words])
    const wrong = await runCommand(['bulk', 'retry-messages', 'source:stripe', '--store', url])

    expect(retried.lines[0]).toMatch(/^Bulk [0-9a-f-]{36}: retry 2 messages$/)
    expect(retried.lines.at(-1)).toBe('2 done')
    expect(dropped.questions).toEqual(['discard 2 messages? [y/N] '])
    expect(await listMessages(store, { state: 'discarded', limit: 10 })).toHaveLength(2)
    expect([retried.code, dropped.code, without.code, wrong.code]).toEqual([0, 0, 2, 2])
    expect(wrong.errors).toContain('There are: state, destination, text, before, after')
  })
})

test.each([
  [{ planned: 100, left: 100 }, 0, `[${'-'.repeat(24)}] 0 of 100`],
  [
    { planned: 100, left: 50 },
    25,
    `[${'='.repeat(12)}${'-'.repeat(12)}] 50 of 100, 25/s, 2 s left`,
  ],
  [{ planned: 100, left: 0 }, 50, `[${'='.repeat(24)}] 100 of 100, 50/s, 0 s left`],
])('a bar shows how far it is: %o', (record, perSecond, bar) => {
  expect(drawBar(record, perSecond)).toBe(bar)
})

/** Dead events. */
async function fill(store: Store<QueryTx>, count: number, source = 'stripe'): Promise<void> {
  for (let nth = 0; nth < count; nth += 1)
    await anEventThat(store, dead, { key: `evt_${nth}`, source })
}

async function countStates(store: Store<QueryTx>): Promise<Record<string, number>> {
  const places = { ready: 'ready', dead: { settled: 'dead' } } as const
  const counts: Record<string, number> = {}
  for (const [state, place] of Object.entries(places)) {
    const { bySource } = await store.stats.countPlace(place, 1_000)
    for (const { count } of bySource) counts[state] = count
  }
  return counts
}
