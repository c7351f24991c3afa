/**
 * A config as a person may see it: every value with where it was said, and no secret.
 *
 * @module
 */

import { maskUrl } from '../mask-url.ts'
import { withoutPassword } from '../open-store.ts'
import { isPlainObject } from './layers.ts'
import type { LoadedConfig } from './load-config.ts'

/** One value of a config. */
export interface PrintedSetting {
  /** Such as `receive.port`. */
  readonly path: string
  readonly value: unknown
  /** A file, a variable, a flag, or `default`. */
  readonly origin: string
}

/** Every value, in the order of the schema. */
export function listSettings({
  config,
  origins,
  references,
}: LoadedConfig): readonly PrintedSetting[] {
  return walk(config, []).map(({ path, value }) => ({
    path,
    value: show(path, value, references),
    origin: origins.get(path) ?? originOfList(path, origins) ?? 'default',
  }))
}

function walk(value: unknown, path: readonly string[]): { path: string; value: unknown }[] {
  const members = isPlainObject(value)
    ? Object.entries(value)
    : Array.isArray(value)
      ? value.map((each, index): [string, unknown] => [String(index), each])
      : []
  if (members.length === 0) return [{ path: path.join('.'), value }]
  return members.flatMap(([key, each]) => walk(each, [...path, key]))
}

/** A list is said as a whole. */
function originOfList(path: string, origins: ReadonlyMap<string, string>): string | undefined {
  const parent = path.slice(0, Math.max(0, path.lastIndexOf('.')))
  return parent === '' ? undefined : (origins.get(parent) ?? originOfList(parent, origins))
}

const MASK = '***'

function show(path: string, value: unknown, references: ReadonlyMap<string, string>): unknown {
  const reference = references.get(path)
  // What it stands for was read, or the config had not been loaded.
  if (reference !== undefined) return reference
  if (typeof value === 'function') return '[function]'
  if (typeof value !== 'string') return value
  if (path === 'store') return value.startsWith('sqlite:') ? value : withoutPassword(value)
  if (isSecret(path)) return MASK
  return maskUrl(value)
}

/**
 * Options of a provider may be secrets under any name, so that of a source only what is known to be none is shown;
 * headers of a destination are for credentials.
 */
function isSecret(path: string): boolean {
  if (/^encryption\.keys\.\d+\.key$/.test(path)) return true
  if (/(^|\.)(secrets?|token|password|value)(\.|$)/.test(path)) return true
  const [part, , ...rest] = path.split('.')
  if (part === 'destinations') return rest[0] === 'headers'
  return part === 'sources' && !SHOWN_OPTIONS.has(rest[0] ?? '')
}

const SHOWN_OPTIONS: ReadonlySet<string> = new Set([
  'provider',
  'forward',
  'header',
  'algorithm',
  'encoding',
  'prefix',
  'secretEncoding',
  'timestamp',
  'signed',
  'key',
  'type',
  'status',
  'acknowledge',
  'redelivery',
  'sameBytes',
])
