/**
 * Which events are meant, as one line of text: the same in a command, in a URL and in a search box.
 *
 *     state:dead,unhandled source:stripe after:2h text:"card declined" $.data.customer=cus_9
 *
 * A term is `<name>:<value>`, or `<path>=<value>` for a value in the payload. All terms must hold. A value with a blank
 * in it stands in double quotes, where `\"` and `\\` are a quote and a backslash.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { EVENT_STATES } from '../model/event-state.ts'
import type { EventState } from '../model/event-state.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import type { EventFilter, PayloadCondition } from './event-query.ts'

/** The name before a colon, and what stands behind it. */
export interface Term {
  readonly name: string
  readonly value: string
  readonly isQuoted: boolean
}

const NAMES = ['state', 'source', 'type', 'key', 'text', 'attempts', 'lane', 'before', 'after']
const EXAMPLE = 'state:dead source:stripe after:2h $.data.customer=cus_9'
/** A search box, a URL and a shell are no places for more. */
const LENGTH_MAX = 4_000

/** Part of a term: a path or a name, then `=` or `:`, then a value in quotes or without blanks. */
const TERM =
  /\s*(?:(?<path>\$[^\s="]*)=|(?<name>[^\s:="$]+):)(?:"(?<quoted>(?:[^"\\]|\\["\\])*)"|(?<bare>[^\s"]+))(?=\s|$)/y

/**
 * What a filter says as text. A text without a term means every event.
 *
 * @throws OptionInvalidError for a term that cannot be read, with what it should be
 */
export function parseFilter(text: string, now: Date = new Date()): EventFilter {
  return readTerms<EventFilter>(text, EXAMPLE, (term) => readTerm(term, now))
}

/** What the terms of a text say, each name once. */
export function readTerms<Filter extends object>(
  text: string,
  example: string,
  read: (term: Term) => Partial<Filter>,
): Filter {
  if (text.length > LENGTH_MAX) throw invalid(`a filter has at most ${LENGTH_MAX} characters`)
  const filter: object = {}
  for (const term of splitTerms(text, example)) {
    const target = term.name.startsWith('$') ? 'where' : term.name
    if (Object.hasOwn(filter, target)) throw invalid(`${term.name} can stand in it once`)
    Object.assign(filter, read(term))
  }
  return filter as Filter
}

/** A filter as text that is read as the same filter again. */
export function formatFilter(filter: EventFilter): string {
  const { state, lane, where, before, after, attempts, ...texts } = filter
  const terms = [
    state !== undefined && `state:${typeof state === 'string' ? state : state.join(',')}`,
    ...Object.entries(texts).map(
      ([name, value]) => value !== undefined && `${name}:${quote(value)}`,
    ),
    attempts !== undefined && `attempts:${attempts}`,
    lane !== undefined && `lane:${quote(`${lane.source}/${lane.key}`)}`,
    after !== undefined && `after:${after.toISOString()}`,
    before !== undefined && `before:${before.toISOString()}`,
    where !== undefined && `${where.path}=${formatEquals(where.equals)}`,
  ]
  return terms.filter((term) => term !== false).join(' ')
}

function* splitTerms(text: string, example: string): Generator<Term> {
  let at = 0
  const end = text.trimEnd().length
  while (at < end) {
    TERM.lastIndex = at
    const groups = TERM.exec(text)?.groups
    if (groups === undefined) throw unreadable(text.slice(at).trim(), example)
    at = TERM.lastIndex
    const { path, name = path ?? '', quoted, bare = '' } = groups
    yield {
      name,
      value: quoted?.replace(/\\(["\\])/g, '$1') ?? bare,
      isQuoted: quoted !== undefined,
    }
  }
}

function readTerm({ name, value, isQuoted }: Term, now: Date): Partial<EventFilter> {
  if (name.startsWith('$')) return { where: { path: name, equals: readEquals(value, isQuoted) } }
  switch (name) {
    case 'state':
      return { state: value.split(',').map(readState) }
    case 'source':
    case 'type':
    case 'key':
    case 'text':
      return { [name]: value }
    case 'attempts':
      if (!/^\d{1,15}$/.test(value)) throw invalid('attempts must be a number, such as attempts:3')
      return { attempts: Number(value) }
    case 'lane':
      return { lane: readLane(value) }
    case 'before':
    case 'after':
      return { [name]: readTime(name, value, now) }
    default:
      throw invalid(
        `there is no "${shorten(name)}"${didYouMean(name, NAMES)} There are: ${NAMES.join(', ')}, and a path such as $.data.customer=cus_9`,
      )
  }
}

function readState(text: string): EventState {
  const found = EVENT_STATES.find((state) => state === text)
  if (found !== undefined) return found
  throw invalid(
    `there is no state "${shorten(text)}"${didYouMean(text, EVENT_STATES)} There are: ${EVENT_STATES.join(', ')}`,
  )
}

function readLane(value: string): NonNullable<EventFilter['lane']> {
  // A source's name has no slash in it; what the handler returns may.
  const slash = value.indexOf('/')
  if (slash < 1) throw invalid('lane must be <source>/<key>, such as lane:stripe/cus_9')
  return { source: value.slice(0, slash), key: value.slice(slash + 1) }
}

const MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, or how long ago. */
export function readTime(name: string, value: string, now: Date): Date {
  const ago = /^(?<count>\d{1,6})(?<unit>[smhd])$/.exec(value)?.groups
  if (ago !== undefined)
    return new Date(now.getTime() - Number(ago['count']) * (MS[ago['unit'] as string] as number))
  // Without a zone it would mean another moment on each machine.
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/
  const time = new Date(isTime.test(value) ? value : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  throw invalid(
    `${name} must be how long ago, such as ${name}:2h or ${name}:7d, or a time such as ${name}:2026-11-16 or ${name}:2026-11-16T03:00Z`,
  )
}

/** `true`, `false` and `null` are what JSON says they are; everything else is a text, which also finds a number. */
function readEquals(value: string, isQuoted: boolean): PayloadCondition['equals'] {
  if (!isQuoted && ['true', 'false', 'null'].includes(value))
    return JSON.parse(value) as boolean | null
  return value
}

function formatEquals(equals: PayloadCondition['equals']): string {
  return typeof equals === 'string' ? quote(equals) : String(equals)
}

/** A value as it is read again, whatever stands in it. */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function unreadable(rest: string, example: string): OptionInvalidError {
  const word = shorten(rest.split(/\s/)[0] ?? '')
  const hint = /[:=]/.test(word)
    ? ''
    : `. To look for a word in what failed attempts say, write text:${word}`
  return invalid(`"${word}" is no term such as in ${example}${hint}`)
}

/** Of what was given, as much as an error repeats. */
export function shorten(text: string): string {
  return text.slice(0, 60).replace(/[^\x20-\x7e]/g, '?')
}

/** What is wrong with a filter. */
export function invalid(message: string): OptionInvalidError {
  return new OptionInvalidError('filter', { message: `The filter cannot be read: ${message}` })
}
