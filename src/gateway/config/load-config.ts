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
import { HookonceError } from '../../errors.ts'
import { findCrowd, findDangling, findStartProblems } from '../find-problems.ts'
import { describeIssue } from './describe-issue.ts'
import type { Issue } from './describe-issue.ts'
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
  /**
   * `start` for a gateway: its sources and destinations must be such that they can be used. A command that looks at events
   * needs no secrets for that.
   *
   * @defaultValue 'look'
   */
  readonly purpose?: 'look' | 'start' | undefined
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
  const issues = checked.error?.issues ?? []
  const referred = new Set(resolved.references.values())
  const bad = [...issues.flatMap(findEntries), ...resolved.unresolved.map(entryOf)]
  const problems = [
    ...fromEnvironment.problems
      .filter(({ variable }) => !referred.has(`env:${variable}`))
      .map(({ variable, problem }) => `${variable}: ${problem}`),
    ...resolved.problems,
    ...issues.flatMap((issue) => describeIssue(issue, { schema, origins, value: resolved.value })),
    ...findOverlooked(resolved.value),
    ...findMore(resolved.value, bad, options.purpose ?? 'look'),
  ]
  if (problems.length > 0 || !checked.success)
    throw new HookonceError('CONFIG_INVALID', `The config cannot be used:\n${listed(problems)}`)
  return { config: checked.data, file: file?.path, origins, references: resolved.references }
}

/** The one name that the schema leaves out without a word. */
function findOverlooked(value: Record<string, unknown>): readonly string[] {
  return ['sources', 'destinations']
    .filter((part) => isRecord(value[part]) && Object.hasOwn(value[part], '__proto__'))
    .map((part) => `${part}.__proto__: this cannot be a name`)
}

/** A setting at the top, or one source, destination or setting inside it. */
interface Entry {
  readonly part: string
  readonly entry: string | undefined
}

/**
 * What is wrong beside the form. The entries that are bad already are left out, so that all the others are looked at as
 * well, and none is told of twice.
 */
function findMore(
  value: unknown,
  bad: readonly Entry[],
  purpose: NonNullable<LoadConfigOptions['purpose']>,
): readonly string[] {
  const { data: config } = configSchema.safeParse(withoutEntries(value, bad))
  if (config === undefined) return []
  const named = (value as { readonly destinations?: object }).destinations ?? {}
  const isWhole = bad.length === 0
  return [
    ...findDangling(config, Object.keys(named)),
    ...(bad.some(({ part }) => part === 'store') ? [] : findCrowd(config)),
    // A person who looks at events need not have the secrets with which they are received.
    ...(purpose === 'start' ? findStartProblems(config, { isWhole }) : []),
  ]
}

/** Without each source, destination or setting that is bad. */
function withoutEntries(value: unknown, bad: readonly Entry[]): unknown {
  if (bad.length === 0 || !isRecord(value)) return value
  const isBad = (part: string, entry?: string): boolean =>
    bad.some((place) => place.part === part && place.entry === entry)
  // A list goes as a whole.
  const parts = Object.entries(value).filter(
    ([part, inside]) =>
      !isBad(part) && (isRecord(inside) || !bad.some((place) => place.part === part)),
  )
  return Object.fromEntries(
    parts.map(([part, inside]) => {
      if (!isRecord(inside)) return [part, inside]
      const entries = Object.entries(inside).filter(([entry]) => !isBad(part, entry))
      return [part, Object.fromEntries(entries)]
    }),
  )
}

/** A key that is not known is not in the path of its issue. */
function findEntries(issue: Issue): readonly Entry[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys' || path.length >= 2)
    return path.length === 0 ? [] : [entryOf(path)]
  return issue.keys.map((key) => entryOf([...path, key]))
}

function entryOf([part = '', entry]: readonly string[]): Entry {
  return { part, entry }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
