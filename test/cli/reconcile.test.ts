import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { done } from '../support/store-steps.ts'
import { aFolder, anEventThat, aStoreOnFile, runCommand } from '../support/run-command.ts'

describe('hookonce reconcile', () => {
  test('lists the done events whose effect is missing, and replays them when told why', async () => {
    const { store, url } = await aStoreOnFile()
    const ids = await Promise.all(
      ['evt_1', 'evt_2'].map((key) =>
        anEventThat(store, done, { source: 'shop', type: 'order.paid', key }),
      ),
    )
    const folder = aFolder()
    // A function that reads its own tables, of which this file has none.
    writeFileSync(
      join(folder, 'is-paid.mjs'),
      `export default async (event, tx) => {
         await tx.query('select 1')
         return event.key === 'evt_1'
       }`,
    )
    const run = (...more: string[]) =>
      runCommand(
        ['reconcile', 'shop', '--with', 'is-paid.mjs', '--since', '2h', '--store', url, ...more],
        { folder },
      )

    const looked = await run()
    const refused = await run('--rerun')
    const why = ['--rerun', '--reason', 'a table was restored']
    const unsaid = await run(...why)
    const rerun = await run(...why, '--yes')

    expect(looked).toMatchObject({ code: 0, errors: '' })
    expect(looked.lines.at(-1)).toBe('2 looked at, 1 without their effect, 0 failed.')
    expect(looked.output).toContain(ids[1])
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.errors).toContain('--rerun needs --reason')
    expect(unsaid).toMatchObject({ code: 2 })
    expect(unsaid.errors).toContain('say --yes if it is meant')
    expect(rerun.lines.at(-1)).toBe('2 looked at, 1 without their effect, 1 replayed, 0 failed.')
    const ready = await runCommand(['events', 'list', 'state:ready', '--json', '--store', url])
    expect(JSON.parse(ready.output)).toMatchObject({ events: [{ key: 'evt_2' }] })
  })

  test('refuses a file without a function', async () => {
    const { url } = await aStoreOnFile()
    const folder = aFolder()
    writeFileSync(join(folder, 'none.mjs'), 'export default 1')

    const { code, errors } = await runCommand(
      ['reconcile', 'shop', '--with', 'none.mjs', '--since', '2h', '--store', url],
      { folder },
    )

    expect(code).toBe(2)
    expect(errors).toContain('none.mjs must export a function by default')
  })
})
