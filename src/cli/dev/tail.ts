/**
 * The live tail: a line for each delivery with what it was answered, and a line for what became of the event.
 *
 *     12:00:01  demo      order.paid          200 accepted          019a8f6e-…
 *     12:00:01  demo      order.paid          done in 12 ms         019a8f6e-…
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { AnswerWatch } from '../../gateway/current-inbox.ts'
import type { Inbox, SourceMap } from '../../index.ts'
import type { HappeningName, Happenings } from '../../telemetry/happenings.ts'
import { describeHappening } from './describe-happening.ts'
import { cutText, displayWidth, padText } from '../output/display-width.ts'
import { wrapText } from '../output/wrap-text.ts'
import { harmless } from './screen.ts'
import type { Screen } from './screen.ts'

/** What can be tried again. */
export interface DeadThing {
  readonly kind: 'event' | 'message'
  readonly id: string
}

/** How many events are remembered by their type, for lines about their messages. */
const EVENTS_MAX = 1_000

/** Writes the lines, and remembers the last of what the keys are for. */
export class Tail implements AnswerWatch {
  readonly #screen: Screen
  readonly #events = new Map<string, { readonly source: string; readonly type: string }>()
  /** Why deliveries are answered as they are, by source and outcome, until their answers are told. */
  readonly #reasons = new Map<string, string[]>()
  #lastBody: Uint8Array | undefined
  #lastDead: DeadThing | undefined
  #isQuiet: boolean

  /** A quiet one writes nothing before `begin`. */
  constructor(screen: Screen, { isQuiet }: { readonly isQuiet: boolean }) {
    this.#screen = screen
    this.#isQuiet = isQuiet
  }

  begin(): void {
    this.#isQuiet = false
  }

  /** The body of the last delivery, refused ones too: those are what a person has to look at. */
  get lastBody(): Uint8Array | undefined {
    return this.#lastBody
  }

  /** The last that has died, once: who asks again means another one. */
  takeLastDead(): DeadThing | undefined {
    const dead = this.#lastDead
    this.#lastDead = undefined
    return dead
  }

  listenTo(inbox: Inbox<SourceMap, unknown>): void {
    inbox.events.onAny((name, happening) => {
      const { eventId, source } = happening as About
      const isKnown = eventId === undefined || source !== undefined || this.#events.has(eventId)
      if (isKnown) this.#tell(name, happening)
      else void this.#recall(inbox, eventId).then(() => this.#tell(name, happening))
    })
  }

  /** An event of an earlier run. Where the store is away the line goes without its source. */
  async #recall({ admin }: Inbox<SourceMap, unknown>, eventId: string): Promise<void> {
    const event = await admin.findEvent(eventId).catch(() => undefined)
    if (event !== undefined) this.#rememberEvent(eventId, event)
  }

  onAnswered(...[source, delivery, answer]: Parameters<AnswerWatch['onAnswered']>): void {
    const { status, outcome, eventId } = answer
    this.#lastBody = delivery.body
    const reason = this.#reasons.get(`${source} ${outcome}`)?.shift()
    const isTaken = status >= 200 && status <= 299
    this.#write({
      source,
      type: this.#events.get(eventId ?? '')?.type,
      what: `${status} ${outcome}${reason === undefined ? '' : `: ${reason}`}`,
      eventId,
      style: !isTaken ? 'red' : outcome === 'accepted' ? 'green' : 'yellow',
    })
  }

  onUnknownSource(name: string): void {
    const what = '404 there is no such source: press a to add one'
    this.#write({ source: name, type: undefined, what, eventId: undefined, style: 'red' })
  }

  /** What the handler of a source that forwards nowhere has to show. */
  printEvent(event: { source: string; type: string; id: string; body: Uint8Array }): void {
    const { source, type, body } = event
    const what = `handler got ${harmless(Buffer.from(body).toString(), 100)}`
    this.#write({ source, type, what, style: 'dim', isOneLine: true })
  }

  #tell<Name extends HappeningName>(name: Name, happening: Happenings[Name]): void {
    const about = happening as About
    this.#remember(name, about)
    const what = describeUnread(name, about) ?? describeHappening(name, happening)
    if (what === undefined) return
    const event = this.#events.get(about.eventId ?? '')
    this.#write({ ...event, ...about, what, style: styleOf(name) })
  }

  #remember(name: HappeningName, { source, type, eventId, messageId, reason, error }: About): void {
    if (source !== undefined && type !== undefined && eventId !== undefined)
      this.#rememberEvent(eventId, { source, type })
    if (name === 'event.dead' && eventId !== undefined)
      this.#lastDead = { kind: 'event', id: eventId }
    if (name === 'message.dead' && messageId !== undefined)
      this.#lastDead = { kind: 'message', id: messageId }
    const why = reason ?? error?.message
    const isOfAnswer =
      name.startsWith('delivery.') && describeUnread(name, { reason, error }) === undefined
    if (!isOfAnswer || why === undefined) return
    const place = `${source} ${name.slice('delivery.'.length)}`
    this.#reasons.set(place, [...(this.#reasons.get(place) ?? []), why])
  }

  #rememberEvent(eventId: string, { source, type }: { source: string; type: string }): void {
    this.#events.set(eventId, { source, type })
    if (this.#events.size > EVENTS_MAX) this.#events.delete(this.#events.keys().next().value ?? '')
  }

  #write({ style, ...given }: TailLine): void {
    if (this.#isQuiet) return
    const time = this.#screen.paint('dim', new Date().toTimeString().slice(0, TIME_WIDTH))
    const { head, what, eventId, isBelow } = layOutLine(given, this.#screen.columns)
    const texts = what.map((text) => this.#screen.paint(style, text))
    const [first = '', ...rest] = isBelow ? ['', ...texts] : texts
    const id = eventId === '' ? '' : `  ${this.#screen.paint('dim', eventId)}`
    this.#screen.line(`${time}  ${head}  ${first}${id}`.trimEnd())
    const indent = TIME_WIDTH + 2 + (isBelow ? 0 : displayWidth(head) + 2)
    for (const text of rest) this.#screen.line(' '.repeat(indent) + text)
  }
}

/**
 * What fits between the edges of the terminal. Where a line is too long the id goes first: it is of use only as a whole,
 * and `hookonce events list` has it. Then what happened has several lines: why it went wrong is what a person looks for.
 * Where beside the head there is room for hardly more than a word, they are below it.
 */
export function layOutLine(
  { source = '', type = '', what, eventId = '', isOneLine = false }: Omit<TailLine, 'style'>,
  columns: number,
): LaidOut {
  const [sourceMax, typeMax] = columns < 100 ? [SOURCE_WIDTH, TYPE_WIDTH] : [24, 40]
  const head = [
    padText(cutText(harmless(source, 240), sourceMax), SOURCE_WIDTH),
    padText(cutText(harmless(type, 240), typeMax), TYPE_WIDTH),
  ].join('  ')
  const told = padText(harmless(what, 240), WHAT_WIDTH)
  const id = harmless(eventId, 36)
  const room = Math.max(WHAT_WIDTH, columns - TIME_WIDTH - 4 - displayWidth(head))
  if (room >= displayWidth(told) + 2 + id.length)
    return { head, what: [told], eventId: id, isBelow: false }
  const text = told.trimEnd()
  const isBelow = room < BESIDE_MIN && displayWidth(text) > room
  const width = isBelow ? columns - TIME_WIDTH - 2 : room
  const lines = isOneLine ? [cutText(text, width)] : wrapText(text, width)
  return { head, what: lines, eventId: '', isBelow }
}

/** A line, or what has several. */
interface LaidOut {
  readonly head: string
  readonly what: readonly string[]
  readonly eventId: string
  /** Whether what happened begins below the head, and not beside it. */
  readonly isBelow: boolean
}

/** With an id of 36 columns they are 98: less than a terminal of 100. */
const [TIME_WIDTH, SOURCE_WIDTH, TYPE_WIDTH, WHAT_WIDTH] = [8, 8, 18, 20]

/** In fewer columns a sentence would be a column of words. */
const BESIDE_MIN = 30

/** The answer to a delivery whose body was not read to its end: only its happening tells of it. */
function describeUnread(name: HappeningName, { reason, error }: About): string | undefined {
  if (name === 'delivery.malformed' && reason === 'too-large') return '413 too-large'
  if (name === 'delivery.malformed' && reason === 'too-slow') return '408 too-slow'
  const isFull = error instanceof HookonceError && error.code === 'RECEIVE_FULL'
  return isFull ? `503 unavailable: ${error.message}` : undefined
}

/** What happenings may say; which of it, depends on the happening. */
interface About {
  readonly source?: string
  readonly type?: string
  readonly eventId?: string
  readonly messageId?: string
  readonly reason?: string | undefined
  readonly error?: Error | undefined
}

interface TailLine {
  readonly source?: string | undefined
  readonly type?: string | undefined
  readonly what: string
  readonly eventId?: string | undefined
  readonly style: 'dim' | 'green' | 'red' | 'yellow'
  /** Whether its beginning is enough, as that of a body is. */
  readonly isOneLine?: boolean
}

function styleOf(name: HappeningName): TailLine['style'] {
  if (/\.(done|sent|available)$/.test(name)) return 'green'
  return /\.(dead|malformed|unavailable|crashed|unknown)$/.test(name) ? 'red' : 'yellow'
}
