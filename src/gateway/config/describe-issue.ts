/**
 * What is wrong with a config, in our words and with where it was said. The value is never shown: it may be a secret.
 *
 * @module
 */

import type { z } from 'zod'
import { didYouMean } from '../../options/did-you-mean.ts'
import type { SchemaNode } from './environment.ts'

/** What the schema finds. */
export type Issue = z.core.$ZodIssue

/** What an issue is described by, beside itself. */
export interface IssueContext {
  readonly schema: SchemaNode
  /** By the path of a value: where it was said. */
  readonly origins: ReadonlyMap<string, string>
  /** What was checked. */
  readonly value: unknown
}

/** A line for each thing that is wrong. */
export function describeIssue(issue: Issue, context: IssueContext): readonly string[] {
  return openUnions(issue, []).flatMap((each) => describeOne(each, context))
}

function describeOne(issue: Issue, { schema, origins, value }: IssueContext): readonly string[] {
  const place = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(nodeAt(schema, place)?.properties ?? {})
    return issue.keys.map((key) => {
      const where = [...place, key].join('.')
      return `${where}: there is no such setting${didYouMean(key, known)}${saidIn(where, origins)}`
    })
  }
  const where = place.join('.') || 'the config'
  return [`${where}: ${wordsOf(issue, valueAt(value, place))}${saidIn(where, origins)}`]
}

/**
 * Where a value may have several forms, such as a name or an object, the one that it was meant to have says what is
 * wrong with it: the first whose kind it is.
 */
function openUnions(issue: Issue, above: readonly PropertyKey[]): readonly Issue[] {
  const path = [...above, ...issue.path]
  if (issue.code === 'invalid_union') {
    const meant = issue.errors.find((issues) => !issues.some(isOfAnotherKind))
    if (meant !== undefined) return meant.flatMap((inner) => openUnions(inner, path))
  }
  return [{ ...issue, path }]
}

const OF_KIND: ReadonlySet<Issue['code']> = new Set(['invalid_type', 'invalid_value', 'custom'])

function isOfAnotherKind({ code, path }: Issue): boolean {
  return path.length === 0 && OF_KIND.has(code)
}

/** Messages that the schema itself gives are taken as they are; those of zod begin with one of these. */
const OF_ZOD = /^(Invalid|Too (small|big))/

function wordsOf(issue: Issue, value: unknown): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  if (!OF_ZOD.test(issue.message)) return lowerFirst(issue.message)
  if (issue.code === 'invalid_type' && value === undefined) return 'is missing'
  const allowed = listAllowed(issue)
  if (allowed.length > 0) return `must be ${listOr(allowed)}${nearest(value, issue)}`
  switch (issue.code) {
    case 'too_small':
      return issue.origin === 'array' ? 'must not be empty' : `must be ${issue.minimum} or more`
    case 'too_big':
      return `must be ${issue.maximum} or less`
    case 'invalid_format':
      return 'prefix' in issue && typeof issue.prefix === 'string'
        ? `must begin with ${issue.prefix}`
        : 'must be a time, such as 2026-11-30T12:00:00Z'
    default:
      return lowerFirst(issue.message)
  }
}

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
}

/** What it could have been: a kind, or one of some values. Nothing where the kind is right. */
function listAllowed(issue: Issue): readonly string[] {
  if (issue.code === 'invalid_type') return [KINDS[issue.expected] ?? issue.expected]
  if (issue.code === 'invalid_value') return issue.values.map((value) => JSON.stringify(value))
  if (issue.code === 'invalid_union')
    return issue.errors.flatMap((issues) => issues.slice(0, 1).flatMap(listAllowed))
  return []
}

function nearest(value: unknown, issue: Issue): string {
  if (issue.code !== 'invalid_value') return ''
  const known = issue.values.filter((each) => typeof each === 'string')
  const meant = didYouMean(value, known)
  return meant === '.' ? '' : meant
}

function listOr(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length === 1 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}

function saidIn(where: string, origins: ReadonlyMap<string, string>): string {
  const exact = origins.get(where)
  const below = [...origins].find(([place]) => place.startsWith(`${where}.`))?.[1]
  // A list is said as a whole.
  const above = [...origins].find(([place]) => where.startsWith(`${place}.`))?.[1]
  const origin = exact ?? below ?? above
  return origin === undefined ? '' : ` (${origin})`
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

function valueAt(value: unknown, place: readonly string[]): unknown {
  let found = value
  for (const key of place) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
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
