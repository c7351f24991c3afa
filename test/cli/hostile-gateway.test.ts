import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import type { Shell } from '../../src/cli/shell.ts'
import { describeApi } from '../../src/gateway/admin/openapi.ts'
import { matchRoutes } from '../../src/gateway/admin/routes.ts'
import { runCommand } from '../support/run-command.ts'
import type { CommandResult } from '../support/run-command.ts'

/**
 * Clears the screen, sets the title and the clipboard, begins a C1 sequence, turns the direction of text around, writes
 * over the line, and begins one of its own.
 */
const HOSTILE =
  '\u001b[2J\u001b]0;owned\u0007\u001b]52;c;b3du\u0007\u009b31m\u202egnp.exe\u2066\u2028\r\nFORGED'
const STEERS =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]/

/** What each command that can ask a gateway is told. The commands are taken from the program: none can be left out. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'events list': [],
  'events show': ['an-id', '--full'],
  'events find': ['a-key'],
  'events body': ['an-id'],
  'events export': ['an-id', '--fixture'],
  tail: [],
  failures: [],
  groups: [],
  stats: [],
  workers: [],
  lanes: [],
  audit: [],
  retry: ['an-id'],
  replay: ['an-id', '--reason', 'why'],
  release: ['an-id', '--reason', 'why'],
  discard: ['an-id', '--reason', 'why'],
  forget: ['an-id'],
  'resolve-step': ['an-id', 'charge', '--not-happened'],
  'bulk retry': [],
  'bulk replay': ['--reason', 'why'],
  'bulk release': ['--reason', 'why'],
  'bulk discard': ['--reason', 'why'],
  'bulk forget': ['--reason', 'why'],
  'bulk retry-messages': [],
  'bulk discard-messages': ['--reason', 'why'],
  'bulk resume': ['an-id'],
  'bulk list': [],
  'bulk show': ['an-id'],
  'bulk abort': ['an-id'],
  pause: ['source', 'stripe'],
  resume: ['source', 'stripe'],
  pauses: [],
  'messages list': [],
  'messages show': ['an-id'],
  'messages retry': ['an-id'],
  'messages confirm': ['an-id'],
  'messages discard': ['an-id'],
  erase: ['an-id', '--reason', 'why'],
  prune: [],
  secrets: [],
}
/** They print nothing that a gateway says, but as JSON to a program, or a count. */
const PRINT_NOTHING = ['mcp', 'trigger']

describe('D10: hostile text in every field of every answer of a gateway', () => {
  test('is asked for by every command that can ask one', () => {
    const commands = listLeaves(createProgram({} as Shell), [])
      .filter(({ command }) => command.options.some(({ long }) => long === '--url'))
      .map(({ words }) => words.join(' '))

    expect(commands.toSorted()).toEqual([...Object.keys(WORDS), ...PRINT_NOTHING].toSorted())
  })

  test.each(Object.keys(WORDS))('does not steer the terminal: %s', async (command) => {
    const outcomes = [
      await run('one', command),
      await run('one', command, '--json'),
      await run('other', command),
      await run('other', command, '--json'),
      await run('refuses', command),
      await run('fails', command),
    ]

    expect(outcomes.some((outcome) => textOf(outcome).includes('\\u001b[2J'))).toBe(true)
    for (const outcome of outcomes) {
      expect(textOf(outcome)).not.toMatch(STEERS)
      // A body has lines of its own, below their heading.
      if (command !== 'events body') expect(textOf(outcome)).not.toMatch(/^FORGED/m)
    }
  })
})

/** How it answers: with one of what an answer may be or the other, or with a problem. */
type Manner = 'one' | 'other' | 'refuses' | 'fails'

async function run(manner: Manner, command: string, ...more: readonly string[]) {
  const place = ['--url', `http://127.0.0.1:${port()}/${manner}`]
  const words = [...command.split(' '), ...(WORDS[command] ?? []), ...more, ...place]
  return runCommand(words, {
    columns: 100,
    isInteractive: true,
    answers: ['y'],
    // What goes on until it is told to stop ends after its first look.
    interrupted: AbortSignal.abort(),
  })
}

function textOf({ output, errors, questions, progress }: CommandResult): string {
  return [output, errors, ...questions, ...progress].join('\n')
}

type Schema = Readonly<Record<string, unknown>>
interface Operation {
  readonly responses: {
    readonly 200: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
  }
}

const { paths, components } = describeApi() as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A gateway that answers as OpenAPI says, with hostile text wherever text may be. */
const server = createServer(({ method = '', url = '' }, response) => {
  const [, manner, path = ''] = /^\/(\w+)([^?]*)/.exec(url) ?? []
  if (manner === 'fails' || (manner === 'refuses' && method === 'POST')) {
    response.writeHead(manner === 'fails' ? 500 : 409, {
      'content-type': 'application/problem+json',
    })
    response.end(JSON.stringify({ code: 'EVENT_DONE', detail: HOSTILE, instead: HOSTILE }))
    return
  }
  const match = matchRoutes(path).find(({ route }) => route.method === method)
  const operation = paths[`/api/v1${match?.route.path}`]?.[method.toLowerCase()]
  const [[type, { schema }] = ['', {}]] = Object.entries(operation?.responses[200].content ?? {})
  const variant = manner === 'other' ? 1 : 0
  response.setHeader('content-type', type)
  response.end(schema ? JSON.stringify(anAnswer(schema, variant)) : HOSTILE)
})
const port = (): number => (server.address() as AddressInfo).port

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => server.close().closeAllConnections())

/** What fits a schema, with all that it may have; `variant` is which of several that it may be. */
function anAnswer(schema: Schema, variant: number): unknown {
  const again = (inner: unknown): unknown => anAnswer(inner as Schema, variant)
  const { $ref, anyOf, type, properties, additionalProperties, prefixItems, items } = schema
  if (typeof $ref === 'string') return again(components.schemas[$ref.split('/').at(-1) ?? ''])
  if (Array.isArray(anyOf)) {
    const choices = anyOf.filter((choice: Schema) => choice['type'] !== 'null')
    return again(choices[variant % choices.length])
  }
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][variant % schema['enum'].length]
  switch (type) {
    case 'object': {
      const { propertyNames } = schema as { readonly propertyNames?: Schema }
      const key = propertyNames === undefined ? HOSTILE : String(again(propertyNames))
      return {
        ...Object.fromEntries(
          Object.entries(properties ?? {}).map(([name, inner]) => [name, again(inner)]),
        ),
        ...(typeof additionalProperties === 'object' && { [key]: again(additionalProperties) }),
      }
    }
    case 'array':
      return Array.isArray(prefixItems) ? prefixItems.map(again) : [again(items), again(items)]
    case 'string':
      if (schema['format'] === 'date-time') return '2026-11-16T03:00:00.000Z'
      return schema['contentEncoding'] === 'base64'
        ? Buffer.from(HOSTILE).toString('base64')
        : HOSTILE
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return variant === 0
    default:
      return HOSTILE
  }
}

interface Leaf {
  readonly command: Command
  readonly words: readonly string[]
}

function listLeaves(command: Command, words: readonly string[]): readonly Leaf[] {
  if (command.commands.length === 0) return [{ command, words }]
  return command.commands.flatMap((each) => listLeaves(each, [...words, each.name()]))
}
