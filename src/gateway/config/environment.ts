/**
 * A config from the environment alone, for containers without a file.
 *
 *     HOOKONCE_STORE=postgres://…
 *     HOOKONCE_RECEIVE__PORT=8080                           receive.port
 *     HOOKONCE_SOURCES__STRIPE__PROVIDER=stripe             sources.stripe.provider
 *     HOOKONCE_SOURCES__STRIPE__SECRETS=env:STRIPE_SECRET   sources.stripe.secrets
 *
 * `__` goes one level down, `_` parts the words of a name: `BODY_BYTES_MAX` is `bodyBytesMax`. The names of sources
 * and destinations are in lower case. What begins with `[` or `{` is read as JSON; a list can also be written with
 * commas. An option that only its provider knows is text; where it must be something else, write the source as JSON:
 * `HOOKONCE_SOURCES__PARTNER={"provider":"hmac",…}`.
 *
 * @module
 */

import { didYouMean } from '../../options/did-you-mean.ts'
import type { ConfigLayer } from './layers.ts'

const PREFIX = 'HOOKONCE_'
/** Read elsewhere, and no part of a config. */
const NOT_CONFIG: ReadonlySet<string> = new Set([
  'HOOKONCE_ACTOR',
  'HOOKONCE_CONFIG',
  'HOOKONCE_TOKEN',
  'HOOKONCE_URL',
])

/** Names that are common enough to be taken for what they mean, and must not be without effect. */
const ALIASES: Readonly<Record<string, string>> = {
  HOOKONCE_ADMIN_TOKEN: 'HOOKONCE_ADMIN__TOKEN',
}

/** The part of a JSON Schema that is looked at here. */
export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly anyOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
}

/**
 * What Kubernetes and Docker tell a container of services whose name begins with `hookonce`, such as
 * `HOOKONCE_SERVICE_HOST` and `HOOKONCE_PORT=tcp://10.0.0.1:80`. The user has not set them, and they must not stop a start.
 */
const OF_A_SERVICE =
  /(_SERVICE_HOST|_SERVICE_PORT(_[A-Z0-9_]+)?|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/

function isOfService(variable: string, text: string): boolean {
  return (
    OF_A_SERVICE.test(variable) || (variable.endsWith('_PORT') && /^(tcp|udp|sctp):/.test(text))
  )
}

/** What the environment says, and what in it cannot be meant: that may be a variable of the user's that a config refers to. */
export interface EnvironmentConfig extends ConfigLayer {
  readonly problems: readonly { readonly variable: string; readonly problem: string }[]
}

/** Reads every variable that begins with `HOOKONCE_`. */
export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  schema: SchemaNode,
): EnvironmentConfig {
  const value: Record<string, unknown> = {}
  const origin = new Map<string, string>()
  const problems: { variable: string; problem: string }[] = []
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || NOT_CONFIG.has(variable) || text === undefined) continue
    if (isOfService(variable, text)) continue
    const name = ALIASES[variable] ?? variable
    const place = findPlace(name.slice(PREFIX.length).split('__'), schema)
    if ('problem' in place) {
      problems.push({ variable, problem: place.problem })
      continue
    }
    const read = readText(text, place.node)
    if ('problem' in read) {
      problems.push({ variable, problem: read.problem })
      continue
    }
    put(value, place.path, read.value)
    origin.set(place.path.join('.'), variable)
  }
  return { value, origin, problems }
}

type Place =
  { readonly path: readonly string[]; readonly node: SchemaNode } | { readonly problem: string }

function findPlace(words: readonly string[], schema: SchemaNode): Place {
  const path: string[] = []
  let node = schema
  for (const word of words) {
    const known = node.properties ?? {}
    const key = Object.keys(known).find((each) => toVariable(each) === word)
    if (key !== undefined) {
      path.push(key)
      node = known[key] as SchemaNode
    } else if (node.additionalProperties !== undefined && node.additionalProperties !== false) {
      // A record has names, such as those of sources; an object with options of its provider has keys.
      const isRecord = node.properties === undefined
      path.push(isRecord ? word.toLowerCase() : toKey(word))
      node = typeof node.additionalProperties === 'object' ? node.additionalProperties : {}
    } else {
      const names = Object.keys(known).map(toVariable)
      const meant = didYouMean(word, names)
      const isFirst = node === schema && meant === '.'
      return {
        problem: `there is no ${word || 'empty name'}${isFirst ? findMeant(word, schema) : meant}`,
      }
    }
  }
  return { path, node }
}

/** What a name without `__` may stand for: the same name with it, or the last word of one. */
function findMeant(word: string, schema: SchemaNode): string {
  const all = listVariables(schema)
  const meant =
    all.find((name) => name.replaceAll('__', '_') === word) ??
    all.find((name) => name.endsWith(`__${word}`))
  if (meant !== undefined) return `, did you mean "${meant}"?`
  const record = ['SOURCES', 'DESTINATIONS'].find((name) => word.startsWith(`${name}_`))
  if (record !== undefined) return `: two underscores go one level down, as in ${record}__<NAME>__…`
  return `. A variable of your own needs a name that does not begin with ${PREFIX}, or an env: reference in the config`
}

/** Of all settings, but for those with names in them. */
function listVariables({ properties = {} }: SchemaNode, above = ''): readonly string[] {
  return Object.entries(properties).flatMap(([key, node]) => {
    const variable = `${above}${toVariable(key)}`
    return node.properties === undefined ? [variable] : listVariables(node, `${variable}__`)
  })
}

/** `bodyBytesMax` is written `BODY_BYTES_MAX`. */
export function toVariable(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

function toKey(word: string): string {
  return word
    .toLowerCase()
    .replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase())
}

type ReadText = { readonly value: unknown } | { readonly problem: string }

function readText(text: string, node: SchemaNode): ReadText {
  if (/^\s*[[{]/.test(text)) {
    try {
      return { value: JSON.parse(text) as unknown }
    } catch {
      return { problem: 'begins like JSON and is none' }
    }
  }
  const types = typesOf(node)
  if (types.has('array')) return { value: splitList(text) }
  if (types.has('number') || types.has('integer')) {
    if (/^-?\d+(\.\d+)?$/.test(text)) return { value: Number(text) }
    return types.has('string') ? { value: text } : { problem: 'must be a number' }
  }
  if (types.has('boolean') && ['true', 'false'].includes(text)) return { value: text === 'true' }
  return { value: text }
}

function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function typesOf({ type, anyOf = [] }: SchemaNode): ReadonlySet<string> {
  const own = type === undefined ? [] : [type].flat()
  return new Set([...own, ...anyOf.flatMap((each) => [...typesOf(each)])])
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path as [string, ...string[]]
  if (rest.length === 0) target[key] = value
  else put((target[key] ??= {}) as Record<string, unknown>, rest, value)
}
