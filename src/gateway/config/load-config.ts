/**
 * From what was said in files, in the environment and on the command line to one config that is checked.
 *
 *     default ◀ beneath ◀ file ◀ environment ◀ flags          the right one counts more
 *
 * What this module promises: a config that is loaded has nothing unknown in it and no reference left, and every
 * problem of one that is not is told at once, with where it was said.
 *
 * @module
 */

import path from 'node:path'
import type { z } from 'zod'
import { HookonceError } from '../../errors.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import { readEnvironment } from './environment.ts'
import type { SchemaNode } from './environment.ts'
import { mergeLayers } from './layers.ts'
import type { ConfigLayer } from './layers.ts'
import { readConfigFile } from './read-file.ts'
import { resolveReferences } from './references.ts'
import { configJsonSchema, configSchema } from './schema.ts'
import type { ResolvedConfig } from './schema.ts'

/** Where to look, and what the command line says. */
export interface LoadConfigOptions {
  /** What relative paths begin at. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** A file that was named, instead of one that is found. */
  readonly file?: string | undefined
  /** What counts less than the file. Left out, nothing. */
  readonly beneath?: ConfigLayer | undefined
  /** What flags say, by the path of the value: `receive.port`. */
  readonly flags?:
    ReadonlyMap<string, { readonly flag: string; readonly value: unknown }> | undefined
}

/** A config, and where each part of it was said. */
export interface LoadedConfig {
  readonly config: ResolvedConfig
  readonly file: string | undefined
  /** By the path of a value: a file, a variable, a flag. What is not here has its default. */
  readonly origins: ReadonlyMap<string, string>
  /** By the path of a value: the `env:` or `file:` that stood there. */
  readonly references: ReadonlyMap<string, string>
}

/** @throws HookonceError CONFIG_INVALID with every problem, a line each */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const { folder, environment, flags = new Map() } = options
  const schema = configJsonSchema() as SchemaNode
  const file = await readConfigFile(folder, options.file ?? environment['HOOKONCE_CONFIG'])
  const fromEnvironment = readEnvironment(environment, schema)
  const { value, origins } = mergeLayers([
    ...(options.beneath === undefined ? [] : [options.beneath]),
    ...(file === undefined ? [] : [{ origin: path.basename(file.path), value: file.value }]),
    fromEnvironment,
    layerOfFlags(flags),
  ])
  const resolved = resolveReferences(value, {
    environment,
    folder: file === undefined ? folder : path.dirname(file.path),
  })
  const checked = configSchema.safeParse(resolved.value)
  const problems = [
    ...fromEnvironment.problems,
    ...resolved.problems,
    ...(checked.error?.issues ?? []).flatMap((issue) => describeIssue(issue, schema, origins)),
    ...(checked.success ? [...findDangling(checked.data), ...findCrowd(checked.data)] : []),
  ]
  if (problems.length > 0 || !checked.success)
    throw new HookonceError('CONFIG_INVALID', `The config cannot be used:\n${listed(problems)}`)
  return { config: checked.data, file: file?.path, origins, references: resolved.references }
}

function listed(problems: readonly string[]): string {
  return problems.map((problem) => `  - ${problem}`).join('\n')
}

function layerOfFlags(
  flags: NonNullable<LoadConfigOptions['flags']>,
): Parameters<typeof mergeLayers>[0][number] {
  const value: Record<string, unknown> = {}
  const origin = new Map<string, string>()
  for (const [place, { flag, value: given }] of flags) {
    const keys = place.split('.')
    const last = keys.pop() as string
    let target = value
    for (const key of keys) target = (target[key] ??= {}) as Record<string, unknown>
    target[last] = given
    origin.set(place, flag)
  }
  return { value, origin }
}

type Issue = z.core.$ZodIssue

/** In our words, and with the origin of the value, which is never shown: it may be a secret. */
function describeIssue(
  issue: Issue,
  schema: SchemaNode,
  origins: ReadonlyMap<string, string>,
): readonly string[] {
  const place = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(nodeAt(schema, place)?.properties ?? {})
    return issue.keys.map((key) => {
      const where = [...place, key].join('.')
      return `${where}: there is no such setting${didYouMean(key, known)}${saidIn(where, origins)}`
    })
  }
  const where = place.join('.') || 'the config'
  const words =
    issue.code === 'invalid_key'
      ? (issue.issues[0]?.message ?? issue.message)
      : lowerFirst(issue.message)
  return [`${where}: ${words}${saidIn(where, origins)}`]
}

function saidIn(where: string, origins: ReadonlyMap<string, string>): string {
  const exact = origins.get(where)
  const below = [...origins].find(([place]) => place.startsWith(`${where}.`))?.[1]
  const origin = exact ?? below
  return origin === undefined ? '' : ` (${origin})`
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

function nodeAt(schema: SchemaNode, place: readonly string[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = schema
  for (const key of place) {
    const next: SchemaNode | boolean | undefined =
      node?.properties?.[key] ?? node?.additionalProperties ?? itemsOf(node)
    node = typeof next === 'object' ? next : undefined
  }
  return node
}

/** Of a list: of its members, those that are objects. */
function itemsOf(node: SchemaNode | undefined): SchemaNode | undefined {
  const items = node?.items
  return items?.anyOf?.find(({ properties }) => properties !== undefined) ?? items
}

/** SQLite lets one process write at a time: more of them wait for each other, and are slower than one. */
function findCrowd({ processes, store }: ResolvedConfig): readonly string[] {
  if (processes === 1 || !store.startsWith('sqlite:')) return []
  return [
    `processes: ${processes} need PostgreSQL. SQLite lets one process write at a time, so that several are slower than one. Leave processes out, or set store to postgres://…`,
  ]
}

/** A forward to a destination that does not exist would be found out by the first event. */
function findDangling({ sources, destinations }: ResolvedConfig): readonly string[] {
  const known = Object.keys(destinations)
  return Object.entries(sources).flatMap(([name, { forward = [] }]) =>
    forward
      .map((entry) => (typeof entry === 'string' ? entry : entry.to))
      .filter((to) => !known.includes(to))
      .map(
        (to) =>
          `sources.${name}.forward: there is no destination "${to}"${didYouMean(to, known)} There are: ${known.join(', ') || 'none'}`,
      ),
  )
}
