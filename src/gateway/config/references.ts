/**
 * `env:NAME` and `file:path` stand for what is in the variable or the file, so that no secret has to be written down
 * in a config.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isPlainObject } from './layers.ts'

/** Where references are looked up. */
export interface ReferenceContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What a relative `file:` begins at: the folder of the config file. */
  readonly folder: string
}

/** A config without references. */
export interface ResolvedReferences {
  readonly value: Record<string, unknown>
  /** By the path of the value: the reference that stood there. */
  readonly references: ReadonlyMap<string, string>
  readonly problems: readonly string[]
  /** The paths of those that stand for nothing. The reference itself is still there. */
  readonly unresolved: readonly (readonly string[])[]
}

/** Replaces every text that is a reference, however deep. */
export function resolveReferences(
  given: Readonly<Record<string, unknown>>,
  context: ReferenceContext,
): ResolvedReferences {
  const references = new Map<string, string>()
  const problems: string[] = []
  const unresolved: (readonly string[])[] = []
  const resolve = (value: unknown, place: readonly (string | number)[]): unknown => {
    if (typeof value === 'string' && /^(env|file):/.test(value)) {
      const where = place.join('.')
      const found = lookUp(value, context)
      references.set(where, value)
      if ('text' in found) return found.text
      problems.push(`${where}: ${found.problem}`)
      unresolved.push(place.map(String))
      return value
    }
    if (Array.isArray(value)) return value.map((each, index) => resolve(each, [...place, index]))
    if (isPlainObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, resolve(each, [...place, key])]),
      )
    return value
  }
  const value = resolve(given, []) as Record<string, unknown>
  return { value, references, problems, unresolved }
}

type Found = { readonly text: string } | { readonly problem: string }

function lookUp(reference: string, { environment, folder }: ReferenceContext): Found {
  const [kind, ...rest] = reference.split(':')
  const name = rest.join(':')
  if (kind === 'env') {
    const text = environment[name]
    if (text === undefined || text === '')
      return { problem: `the environment variable ${name || '(no name)'} is not set` }
    return { text }
  }
  try {
    // What an editor or a mounted secret puts at its end is not part of it.
    const text = readFileSync(path.resolve(folder, name), 'utf8').replace(/\r?\n$/, '')
    return text === '' ? { problem: `the file ${name} is empty` } : { text }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an error'
    return { problem: `the file ${name} cannot be read: ${code}` }
  }
}
