import { ACT_ROUTES } from './act-routes.ts'
import { READ_ROUTES } from './read-routes.ts'
import type { Route } from './route.ts'

/** Every route that calls an operator, by what it is called in the reference. */
export const ROUTES = { ...READ_ROUTES, ...ACT_ROUTES }

/** What a route is called. */
export type RouteName = keyof typeof ROUTES

/** What all of them begin with. */
export const BASE_PATH = '/api/v1'

/** A route that a path leads to. */
export interface MatchedRoute {
  readonly name: string
  readonly route: Route
  /** By the names in its path. */
  readonly path: Readonly<Record<string, string>>
}

/** The routes of a path, whatever their method. A path is split before it is decoded: a name may have a slash in it. */
export function matchRoutes(path: string): readonly MatchedRoute[] {
  if (!path.startsWith(`${BASE_PATH}/`)) return []
  const parts = path.slice(BASE_PATH.length).split('/')
  return Object.entries(ROUTES).flatMap(([name, route]): MatchedRoute[] => {
    const found = matchPath(route.path.split('/'), parts)
    return found === undefined ? [] : [{ name, route, path: found }]
  })
}

function matchPath(
  pattern: readonly string[],
  parts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (pattern.length !== parts.length) return undefined
  const found: Record<string, string> = {}
  for (const [at, expected] of pattern.entries()) {
    const part = parts[at] ?? ''
    const name = /^\{(.+)\}$/.exec(expected)?.[1]
    if (name === undefined) {
      if (part !== expected) return undefined
      continue
    }
    const decoded = decode(part)
    if (decoded === undefined) return undefined
    found[name] = decoded
  }
  return found
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** What stands where a path has a name, by what stands before it. */
const NAMED: Readonly<Record<string, string>> = {
  events: 'The id of the event.',
  messages: 'The id of the message.',
  bulks: 'The id of the bulk, as its plan answered it.',
  sources: 'The name of the source.',
}

/** The names in the path of a route, and what they are. */
export function listPathNames({
  path,
}: Pick<Route, 'path'>): readonly { readonly name: string; readonly description: string }[] {
  return [...path.matchAll(/(\w+)\/\{(\w+)\}/g)].map(([, before = '', name = '']) => ({
    name,
    description: NAMED[before] ?? '',
  }))
}

/** The path of a route with its names filled in. */
export function fillPath(
  route: Pick<Route, 'path'>,
  names: Readonly<Record<string, string>>,
): string {
  const filled = route.path.replace(/\{(.+?)\}/g, (_match, name: string) =>
    encodeURIComponent((names[name] ?? '').toWellFormed()),
  )
  return `${BASE_PATH}${filled}`
}
