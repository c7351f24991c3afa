import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseFilter } from '../../src/admin/filter-text.ts'
import { describeApi } from '../../src/gateway/admin/openapi.ts'
import { ROLES } from '../../src/gateway/admin/roles.ts'
import { ROUTES } from '../../src/gateway/admin/routes.ts'
import { INSTRUCTIONS } from '../../src/gateway/mcp/instructions.ts'
import { createTools } from '../../src/gateway/mcp/tools.ts'
import type { Tool } from '../../src/gateway/mcp/tools.ts'

/** What the admin listener answers that is no tool, by its name in OpenAPI, and why. */
const WITHOUT_TOOL: Readonly<Record<string, string>> = {
  live: 'a stream has no end, and a tool has one answer',
  session: 'what a connection may do is what it is offered',
  login: 'sessions are for browsers: a client of MCP sends its token with each request',
  logout: 'sessions are for browsers',
}

const tools = createTools()
const all = [...tools.values()]

describe('the tools', () => {
  test('are what the admin API answers, but for what is named with its reason', () => {
    const { paths } = describeApi() as { paths: Record<string, Record<string, Operation>> }
    const operations = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    )

    expect([...tools.keys(), ...Object.keys(WITHOUT_TOOL)].toSorted()).toEqual(
      operations.toSorted(),
    )
    for (const reason of Object.values(WITHOUT_TOOL)) expect(reason).toMatch(/\w+ \w+/)
  })

  test.each(all.map((tool) => [tool.name, tool] as const))(
    '%s has a schema of its own in which nothing is missing or said twice',
    (_, { route, description, inputSchema }) => {
      const { properties, additionalProperties } = inputSchema as unknown as Schema
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
      const inRoute = [...inPath, ...namesOf(route.query), ...namesOf(route.body)]
      const changed = new Map([
        ['token', 'requestToken'],
        ['actor', undefined],
      ])
      const expected = inRoute.map((name) => (changed.has(name) ? changed.get(name) : name))

      const { withPayload: _flag, ...rest } = properties
      expect(Object.keys(rest).toSorted()).toEqual(
        expected.filter((name) => name !== undefined).toSorted(),
      )
      expect(additionalProperties).toBe(false)
      expect(JSON.stringify(inputSchema)).not.toContain('$ref')
      for (const { description: words } of Object.values(properties))
        expect(words ?? 'x').not.toBe('')
      expect(description).toMatch(/^[A-Z].*\.$/)
    },
  )

  test('need a reason for every change, and a request token where the route has one', () => {
    const changes = all.filter(({ route }) => route.method === 'POST')
    const lacking = (name: string) =>
      changes
        .filter(
          ({ inputSchema }) => (inputSchema as unknown as Schema).required?.includes(name) !== true,
        )
        .map((tool) => tool.name)

    expect(lacking('reason')).toEqual([])
    expect(lacking('requestToken')).toEqual([])
    expect(changes.length).toBe(
      Object.values(ROUTES).filter((route) => route.method === 'POST').length,
    )
  })

  test('tell a client which of them only read, and which it should ask a person for', () => {
    const reading = all.filter(({ annotations }) => annotations.readOnlyHint)
    const destroying = all.filter(({ annotations }) => annotations.destructiveHint)

    expect(reading).toEqual(all.filter(({ role }) => role === 'viewer'))
    expect(destroying.map(({ name }) => name)).toEqual([
      'discard',
      'forget',
      'erase',
      'replay',
      'resolveStep',
      'confirmMessage',
      'discardMessage',
      'runBulk',
      'eraseWhere',
      'prune',
    ])
    expect(all.filter(({ role }) => role === 'admin').map(({ name }) => name)).toEqual([
      'erase',
      'eraseWhere',
      'prune',
    ])
    expect(namesWhere((tool) => !tool.annotations.idempotentHint)).toEqual([])
  })

  test('come with a filter that can be read', () => {
    const [, filter = ''] = /must hold: (.+)$/m.exec(INSTRUCTIONS) ?? []

    expect(Object.keys(parseFilter(filter)).length).toBe(10)
  })

  test.each(ROLES)('of the role %s are those that docs/guides/mcp.md names', (role) => {
    const page = readFileSync(new URL('../../docs/guides/mcp.md', import.meta.url), 'utf8')
    const row = page.split('\n').find((line) => line.startsWith(`| \`${role}\``)) ?? ''
    const [, ...named] = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name)

    expect(named.toSorted()).toEqual(namesWhere((tool) => tool.role === role).toSorted())
  })

  test('show bodies where they are asked for, and nowhere else', () => {
    expect(namesWhere(({ payload }) => payload === 'always')).toEqual(['findRequest'])
    expect(namesWhere(({ payload }) => payload === 'asked')).toEqual([
      'listDead',
      'listEventsByKey',
      'show',
      'findEvent',
      'listRuns',
      'findByIdempotencyKey',
      'listMessages',
      'findMessage',
    ])
  })
})

interface Operation {
  readonly operationId: string
}

interface Schema {
  readonly properties: Record<string, { readonly description?: string }>
  readonly required?: readonly string[]
  readonly additionalProperties: boolean
}

function namesOf(schema: { readonly shape: object } | undefined): readonly string[] {
  return Object.keys(schema?.shape ?? {})
}

function namesWhere(fits: (tool: Tool) => boolean): readonly string[] {
  return all.filter(fits).map(({ name }) => name)
}
