import { describe, expect, test } from 'vitest'
import { refuse } from '../../src/admin/refusals.ts'
import type { Asked } from '../../src/admin/refusals.ts'
import { createProgram } from '../../src/cli/program.ts'
import { advise } from '../../src/cli/output/advise.ts'
import { processShell } from '../../src/cli/shell.ts'
import { EVENT_ACTIONS, REFUSAL_CODES } from '../../src/model/event-action.ts'
import { aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { done } from '../support/store-steps.ts'

const ID = '01900000-0000-7000-8000-000000000001'
const ASKED: readonly Asked[] = [
  ...EVENT_ACTIONS,
  ...(['retryMessage', 'confirmMessage', 'discardMessage'] as const),
  ...(['resolveStep', 'pause', 'resume', 'bulk', 'prune'] as const),
]
const every = ASKED.flatMap((asked) =>
  REFUSAL_CODES.map((code) => [asked, code, advise(refuse(asked, code).instead, ID)] as const),
)

describe('what to do instead of what was refused', () => {
  test('names no call of the library, for any action and any reason', () => {
    const calls = every.filter(([, , advice]) =>
      /\w\(|\(\)|bulk\.plan|onlyIfNotApplied|inbox\./.test(advice),
    )

    expect(calls).toEqual([])
  })

  test('names commands that there are', () => {
    const named = new Set(
      every.flatMap(([, , advice]) =>
        [...advice.matchAll(/hookonce ((?:events|messages|bulk) [a-z]+|[a-z]+)/g)].map(
          ([, command]) => command,
        ),
      ),
    )
    const program = createProgram(processShell())
    const known = program.commands.flatMap((command) => [
      command.name(),
      ...command.commands.map((inner) => `${command.name()} ${inner.name()}`),
    ])

    expect(known).toEqual(expect.arrayContaining([...named]))
    expect([...named].toSorted()).toEqual([
      'bulk list',
      'events find',
      'events show',
      'forget',
      'messages list',
      'messages show',
      'pauses',
      'prune',
      'replay',
      'stats',
    ])
  })

  test('has the id of what it is about, or says where one goes', () => {
    expect(advise('Look at what blocks it: show(id).', ID)).toBe(
      `Look at what blocks it: hookonce events show ${ID}.`,
    )
    expect(advise('Look at what blocks it: show(id).', 'lane stripe/$&')).toBe(
      'Look at what blocks it: hookonce events show <id>.',
    )
  })

  test('is what the command prints', async () => {
    const { store, url } = await aStoreOnFile()
    const id = await anEventThat(store, done)

    const unknown = await runCommand(['retry', ID, '--store', url])
    const step = await runCommand(['resolve-step', id, 'charge', '--not-happened', '--store', url])

    expect(unknown.errors).toContain('Look for it by its key: hookonce events find <key>.')
    expect(step.errors).toContain(`Look at its steps: hookonce events show ${id}.`)
  })
})
