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
import { didYouMean } from '../options/did-you-mean.ts'
import type { EventFilter, PayloadCondition } from './event-query.ts'

/** The name before a colon, and what stands behind it. */
interface Term {
  readonly name: string
  readonly value: string
  readonly isQuoted: boolean
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

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
  if (text.length > LENGTH_MAX) throw invalid(`a filter has at most ${LENGTH_MAX} characters`)
  const filter: Mutable<EventFilter> = {}
  for (const term of splitTerms(text)) {
    const target = term.name.startsWith('$') ? 'where' : term.name
    if (Object.hasOwn(filter, target)) throw invalid(`${term.name} can stand in it once`)
    Object.assign(filter, readTerm(term, now))
  }
  return filter
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

function* splitTerms(text: string): Generator<Term> {
  let at = 0
  const end = text.trimEnd().length
  while (at < end) {
    TERM.lastIndex = at
    const groups = TERM.exec(text)?.groups
    if (groups === undefined) throw unreadable(text.slice(at).trim())
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
      // What is no state is refused where the filter is used, with the states there are.
      return { state: value.split(',') as NonNullable<EventFilter['state']> & readonly string[] }
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

function readLane(value: string): NonNullable<EventFilter['lane']> {
  // A source's name has no slash in it; what the handler returns may.
  const slash = value.indexOf('/')
  if (slash < 1) throw invalid('lane must be <source>/<key>, such as lane:stripe/cus_9')
  return { source: value.slice(0, slash), key: value.slice(slash + 1) }
}

const MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time, or how long ago. */
function readTime(name: string, value: string, now: Date): Date {
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

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function unreadable(rest: string): OptionInvalidError {
  const word = shorten(rest.split(/\s/)[0] ?? '')
  const hint = /[:=]/.test(word)
    ? ''
    : `. To look for a word in what failed attempts say, write text:${word}`
  return invalid(`"${word}" is no term such as in ${EXAMPLE}${hint}`)
}

function shorten(text: string): string {
  return text.slice(0, 60).replace(/[^\x20-\x7e]/g, '?')
}

function invalid(message: string): OptionInvalidError {
  return new OptionInvalidError('filter', { message: `The filter cannot be read: ${message}` })
}
