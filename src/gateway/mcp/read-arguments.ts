import { checkGiven } from '../admin/read-given.ts'
import type { Given } from '../admin/route.ts'
import { listPathNames } from '../admin/routes.ts'
import { LIMIT } from './tools.ts'
import type { Tool } from './tools.ts'

/** What a call says, as its route takes it. */
export interface ReadArguments extends Pick<Given, 'path' | 'query' | 'body'> {
  readonly withPayload: boolean
}

/** @throws OptionInvalidError for what is unknown, missing or cannot be meant */
export function readArguments({ route, takes, payload }: Tool, said: unknown): ReadArguments {
  const { withPayload, requestToken, ...given } = checkGiven('arguments', takes, said)
  const names = new Set(listPathNames(route).map(({ name }) => name))
  const inPath = Object.entries(given).filter(([name]) => names.has(name))
  const rest = Object.entries(given).filter(([name]) => !names.has(name))
  const hasLimit = route.query?.shape['limit'] !== undefined
  return {
    path: Object.fromEntries(inPath) as Given['path'],
    query:
      route.method === 'GET'
        ? { ...(hasLimit && { limit: LIMIT }), ...Object.fromEntries(rest) }
        : {},
    body:
      route.method === 'POST'
        ? {
            ...Object.fromEntries(rest),
            ...(requestToken !== undefined && { token: requestToken }),
          }
        : {},
    withPayload: payload === 'always' || withPayload === true,
  }
}
