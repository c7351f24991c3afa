import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/gateway/open-store.ts'
import { anEventDraft } from '../support/builders.ts'
import { startCli } from '../support/run-cli.ts'
import { recordOne } from '../support/store-steps.ts'

test('the command reads what is encrypted with the keys of a config, and without them says that it cannot', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-encryption-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const key = randomBytes(32).toString('base64')
  const store = 'sqlite:events.db'
  const encryption = { keys: [{ id: '2026-11', key: 'env:EVENTS_KEY' }] }
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify({ store, encryption }))
  writeFileSync(join(folder, 'without.json'), JSON.stringify({ store }))
  const opened = openStore(store, folder, { encryption: { keys: [{ id: '2026-11', key }] } })
  await opened.store.open()
  const { eventId } = await recordOne(opened.store, anEventDraft({ body: '{"card":"4242"}' }))
  await opened.store.close()
  const run = async (args: readonly string[], env: Record<string, string> = {}) => {
    const cli = startCli(args, { folder, env })
    const { code } = await cli.gone
    return { code, output: cli.output(), errors: cli.errors() }
  }
  const EVENTS_KEY = key

  const body = await run(['events', 'body', eventId], { EVENTS_KEY })
  const found = await run(['events', 'list', '$.card=4242', '--json'], { EVENTS_KEY })
  const shown = await run(['events', 'show', eventId, '--store', store])
  const both = ['--config', 'hookonce.config.json', '--store', store]
  const reached = await run(['events', 'body', eventId, ...both], { EVENTS_KEY })
  const migrated = await run(['migrate', '--store', store])
  const refused = await run(['events', 'list', '--config', 'without.json'])
  const wrong = await run(['events', 'list'], { EVENTS_KEY: randomBytes(32).toString('base64') })
  const printed = await run(['config', 'print'], { EVENTS_KEY })

  expect(body).toMatchObject({ code: 0, output: expect.stringContaining('"4242"') as string })
  expect(found.output).toContain(eventId)
  expect(shown).toMatchObject({ code: 0, output: expect.stringContaining('unreadable') as string })
  expect(reached.output).toBe(body.output)
  expect(migrated).toMatchObject({ code: 0 })
  expect(refused.code).not.toBe(0)
  expect(refused.errors).toContain('encrypted with the key "2026-11"')
  expect(wrong.code).not.toBe(0)
  expect(wrong.errors).toContain('The encryption key "2026-11" is not the one')
  for (const { output, errors } of [body, found, shown, refused, wrong, printed])
    expect(output + errors).not.toContain(key)
  expect(printed.output).toContain('env:EVENTS_KEY')
})
