/**
 * The admin API in OpenAPI 3.1, written from the table of its routes: what is served, what is called and what is
 * documented cannot differ.
 *
 * @module
 */

import { z } from 'zod'
import { writeSchema } from './json-schema.ts'
import type { Json } from './json-schema.ts'
import type { Page } from './page.ts'
import type { Role } from './roles.ts'
import type { Route } from './route.ts'
import { BASE_PATH, listPathNames, ROUTES } from './routes.ts'
import { sendJson } from './send-answer.ts'

/** `GET /api/openapi.json`. It tells nothing of this gateway, so that it needs no token. */
export const openApiPage: Page = {
  method: 'GET',
  path: '/api/openapi.json',
  role: undefined,
  answer: ({ response }) => sendJson(response, describeApi()),
}

const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().describe('Stable: match on it.'),
    detail: z.string().describe('Why.'),
    instead: z.string().optional().describe('Of a refused action: what to do instead.'),
  })
  .meta({ id: 'Problem' })

/** The whole document. */
export function describeApi(): Json {
  const schemas: Record<string, unknown> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries(ROUTES))
    (paths[`${BASE_PATH}${route.path}`] ??= {})[route.method.toLowerCase()] = describeRoute(
      name,
      route,
      schemas,
    )
  schemaOf(problem, schemas)
  Object.assign(paths, describePages())
  return {
    openapi: '3.1.0',
    info: {
      title: 'Hookonce admin API',
      version: '1',
      description:
        'What an operator can do with a gateway. docs/admin-api.md says how to reach it.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(byName)),
      responses: { Problem: problemResponse('What went wrong.') },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'hookonce_session' },
      },
    },
  }
}

/** What is answered beside the routes. */
function describePages(): Json {
  const problems = { default: { $ref: '#/components/responses/Problem' } }
  const json = (description: string) => ({ description, content: { 'application/json': {} } })
  return {
    [`${BASE_PATH}/live`]: {
      get: {
        operationId: 'live',
        summary: 'What happens in this process, as it happens',
        description: 'For the role `viewer` and those above it.',
        responses: {
          200: {
            description: 'Server-sent events: the name of a happening, and its fields as JSON.',
            content: { 'text/event-stream': {} },
          },
          ...problems,
        },
      },
    },
    [`${BASE_PATH}/session`]: {
      get: {
        operationId: 'session',
        summary: 'Who asks: name, role, and the request token of a session',
        responses: { 200: json('Known.'), ...problems },
      },
    },
    [`${BASE_PATH}/login`]: {
      post: {
        operationId: 'login',
        summary: 'Begins a session of a browser: sets its cookie, and answers its request token',
        security: [],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { token: { type: 'string' } },
                required: ['token'],
                additionalProperties: false,
              },
            },
          },
        },
        responses: { 200: json('Begun.'), ...problems },
      },
    },
    [`${BASE_PATH}/logout`]: {
      post: {
        operationId: 'logout',
        summary: 'Ends the session',
        responses: { 200: json('Ended.'), ...problems },
      },
    },
  }
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

function describeRoute(name: string, route: Route, schemas: Record<string, unknown>): Json {
  const { role, path, summary, query, body, mayLack, mayRefuse } = route
  return {
    operationId: name,
    summary,
    description: `For the role \`${role}\`${higherThan(role)}.`,
    parameters: [...describePath(route), ...describeQuery(query, schemas)],
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaOf(body, schemas) } },
      },
    }),
    responses: {
      200: { description: 'Done.', content: describeAnswer(route, schemas) },
      ...(mayLack === true && { 404: problemResponse('There is nothing with this id.') }),
      ...(mayRefuse === true && {
        409: problemResponse('Refused: nothing was changed. `instead` says what to do.'),
      }),
      ...(mayRefuse === true &&
        path.includes('{eventId}') && {
          422: problemResponse('Refused: the payload that it needs was erased or pruned.'),
        }),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

function higherThan(role: Role): string {
  return role === 'admin' ? '' : ' and those above it'
}

function problemResponse(description: string): Json {
  const schema = { $ref: '#/components/schemas/Problem' }
  return { description, content: { 'application/problem+json': { schema } } }
}

function describeAnswer({ answer }: Route, schemas: Record<string, unknown>): Json {
  if (answer === 'bytes') return { 'application/octet-stream': {} }
  return { 'application/json': { schema: schemaOf(answer, schemas) } }
}

function describePath(route: Route): readonly Json[] {
  return listPathNames(route).map(({ name, description }) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  }))
}

function describeQuery(
  query: z.ZodObject | undefined,
  schemas: Record<string, unknown>,
): readonly Json[] {
  if (query === undefined) return []
  const { properties = {}, required = [] } = schemaOf(query, schemas) as {
    readonly properties?: Record<string, { readonly description?: string }>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }))
}

/** As it is in JSON. What has a name goes to the components, and is referred to. */
function schemaOf(schema: z.ZodType, schemas: Record<string, unknown>): Json {
  const { $defs = {}, id, ...rest } = writeSchema(schema)
  for (const [name, definition] of Object.entries($defs)) {
    const { id: _id, ...named } = definition as Json
    schemas[name] = relocate(named)
  }
  if (typeof id !== 'string') return relocate(rest) as Json
  schemas[id] = relocate(rest)
  return { $ref: `#/components/schemas/${id}` }
}

/** Zod puts definitions beside a schema; a document of OpenAPI has them in one place. */
function relocate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocate)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, unknown]) => [
      key,
      key === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : relocate(member),
    ]),
  )
}
