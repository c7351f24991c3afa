import { describe, expect, test } from 'vitest'
import { listTableRows, readPage } from './markdown.ts'
import type { Page } from './markdown.ts'
import { listPublicNames } from './public-exports.ts'

/** The headings of the page, and the type whose members each of them tells. */
const SECTIONS = {
  createInbox: 'InboxOptions',
  handlerDefaults: 'HandlerDefaultOptions',
  receive: 'ReceiveOptions',
  worker: 'WorkerOptions',
  relay: 'RelayOptions',
  retention: 'RetentionOptions',
  sqliteStore: 'SqliteStoreOptions',
  postgresStore: 'PostgresStoreOptions',
  on: 'HandlerOptions',
  steps: 'StepHandlerOptions',
  retry: 'RetryOptions',
  destination: 'DestinationOptions',
  httpDestination: 'HttpDestinationOptions',
  createReceiver: 'ReceiverOptions',
  'receiver.listen': 'ListenOptions',
  'receiver.drain': 'DrainOptions',
} as const

const page = readPage('docs/reference/options.md')
const names = listPublicNames()

describe('the page with all options', () => {
  test.each(Object.entries(SECTIONS))('has under %s what is in %s', (heading, type) => {
    const options = names.filter(
      ({ name, kind }) => kind === 'option' && name.startsWith(`${type}.`),
    )
    const rows = listTableRows(sectionOf(page, heading), ['option', 'default', 'what it is for'])

    expect(options).not.toEqual([])
    expect(rows.map(([option]) => option)).toEqual(
      options.map(({ name }) => name.slice(type.length + 1)),
    )
    for (const [at, { isOptional, defaultValue }] of options.entries()) {
      const [option = '', said = '', use = ''] = rows[at] ?? []
      // Where the type names no default, the page says in words what happens.
      const pattern = isOptional ? expect.not.stringMatching(/^(?:needed)?$/) : 'needed'
      expect({ option, said }).toEqual({ option, said: defaultValue ?? pattern })
      expect(use).not.toBe('')
    }
  })

  test('has no other table', () => {
    const headings = [...page.text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)

    expect(headings).toEqual(Object.keys(SECTIONS).map((heading) => `\`${heading}\``))
  })
})

function sectionOf({ name, text }: Page, heading: string): Page {
  const [, after = ''] = text.split(`\n## \`${heading}\`\n`)
  return { name, text: after.split('\n## ')[0] ?? '' }
}
