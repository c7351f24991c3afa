import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startApi } from '../backfill/api-server.ts'
import { aFolder, aStoreOnFile, runCommand } from '../support/run-command.ts'
import type { CommandTerms } from '../support/run-command.ts'

const SECRET = 'whsec_0123456789abcdef'
const API_KEY = 'rk_live_of_the_test'

describe('hookonce backfill', () => {
  test('says what is missing, takes it in, and takes nothing in twice', async () => {
    const { store, url } = await aStoreOnFile()
    const created = Math.floor(Date.now() / 1_000) - 3_600
    const events = ['evt_1', 'evt_2'].map(
      (id) =>
        `{"id":"${id}","object":"event","created":${created},"livemode":false,"type":"invoice.paid","data":{"object":{}}}`,
    )
    const api = await startApi(() => ({ body: `{"has_more":false,"data":[${events.join(',')}]}` }))
    const folder = aConfig(url)
    const run = (more: readonly string[], terms: CommandTerms = {}) =>
      runCommand(
        [
          ...['backfill', 'shop', '--since', '2h', '--key', 'env:API_KEY'],
          ...['--api-url', api.baseUrl, ...more],
        ],
        { folder, environment: { API_KEY }, ...terms },
      )

    const dry = await run(['--dry-run'])
    const before = await store.operators.countEvents()
    const unsaid = await run([])
    const refused = await run([], { isInteractive: true, answers: ['n'] })
    const none = await store.operators.countEvents()
    const taken = await run([], { isInteractive: true, answers: ['y'] })
    const again = await run(['--yes', '--json'])

    expect(dry.lines.at(-1)).toBe('2 sent, 0 were here, 2 are missing, 0 failed.')
    expect([before, none]).toEqual([0, 0])
    expect(dry.progress).toEqual([])
    expect(unsaid).toMatchObject({ code: 2 })
    expect(unsaid.errors).toContain('say --yes if it is meant')
    expect(refused).toMatchObject({ code: 1, errors: 'Nothing was done.' })
    expect(taken.progress[0]).toMatch(/^\d+ listed by the sender, \d+ s$/)
    expect(taken.progress.at(-1)).toBe('')
    expect(taken).toMatchObject({ code: 0, errors: '' })
    expect(taken.lines.at(-1)).toBe('2 sent, 0 were here, 2 taken in, 0 failed.')
    expect(JSON.parse(again.output)).toMatchObject({ listed: 2, known: 2, missing: 0 })
    expect(await store.operators.countEvents()).toBe(2)
    expect(api.requests[0]?.headers.authorization).toBe(`Bearer ${API_KEY}`)
  })

  test('says what the sender has no list of any more', async () => {
    const { url } = await aStoreOnFile()
    const api = await startApi(() => ({ body: '{"has_more":false,"data":[]}' }))
    const run = (since: string) =>
      runCommand(
        ['backfill', 'shop', '--yes', '--since', since, '--key', API_KEY, '--api-url', api.baseUrl],
        { folder: aConfig(url) },
      )

    const far = await run('40d')
    const near = await run('2d')

    expect(far).toMatchObject({ code: 0 })
    expect(far.errors).toContain('The sender lists nothing from before ')
    expect(near.errors).toBe('')
  })

  test('ends with 1 where the API refuses, says where to go on, and does not tell the key', async () => {
    const { url } = await aStoreOnFile()
    const api = await startApi(() => ({ status: 403, body: '{"error":{"message":"no"}}' }))

    const { code, output, errors } = await runCommand(
      ['backfill', 'shop', '--yes', '--since', '2h', '--key', API_KEY, '--api-url', api.baseUrl],
      { folder: aConfig(url) },
    )

    expect(code).toBe(1)
    expect(errors).toContain('It stopped: ')
    expect(`${output}${errors}`).not.toContain(API_KEY)
  })

  test('takes in what is missing in the store that a variable names', async () => {
    const { store, url } = await aStoreOnFile()
    const created = Math.floor(Date.now() / 1_000) - 3_600
    const event = `{"id":"evt_1","object":"event","created":${created},"livemode":false,"type":"invoice.paid","data":{"object":{}}}`
    const api = await startApi(() => ({ body: `{"has_more":false,"data":[${event}]}` }))

    const { code, errors } = await runCommand(
      [
        ...['backfill', 'shop', '--yes', '--since', '2h', '--key', API_KEY],
        ...['--api-url', api.baseUrl, '--store', 'env:THE_STORE'],
      ],
      { folder: aConfig('sqlite:none.db'), environment: { THE_STORE: url } },
    )

    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(await store.operators.countEvents()).toBe(1)
  })

  test('refuses a flag of the API of another provider', async () => {
    const { url } = await aStoreOnFile()

    const { code, errors } = await runCommand(
      ['backfill', 'shop', '--since', '2h', '--key', API_KEY, '--hook-id', '7'],
      { folder: aConfig(url) },
    )

    expect(code).toBe(2)
    expect(errors).toContain('--hook-id has no effect here: it is not for the API of stripe')
  })

  test('ends with 2 for a source or a provider that it is not for', async () => {
    const { url } = await aStoreOnFile()
    const folder = aConfig(url)
    const run = (source: string, since: string) =>
      runCommand(['backfill', source, '--since', since, '--key', API_KEY], { folder })

    const unknown = await run('shp', '2h')
    const other = await run('chat', '2h')
    const never = await run('shop', 'yesterday')

    expect([unknown.code, other.code, never.code]).toEqual([2, 2, 2])
    expect(unknown.errors).toContain('did you mean "shop"?')
    expect(other.errors).toContain('There is no client for the API of slack')
    expect(never.errors).toContain('such as 2d')
  })
})

function aConfig(store: string): string {
  const folder = aFolder()
  const sources = {
    shop: { provider: 'stripe', secrets: [SECRET] },
    chat: { provider: 'slack', secrets: [SECRET] },
  }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ store, sources }))
  return folder
}
