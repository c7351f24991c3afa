/**
 * All that is known of one event, for a person who has been woken for it.
 *
 * @module
 */

import type { EventState, PauseRecord, ShownEvent, ShownRun } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import type { Shell } from '../shell.ts'
import { describeNext } from './describe-next.ts'
import { paint, STATE_STYLES } from './paint.ts'
import { formatMoment, formatSpan, formatTime } from './times.ts'
import { printBody } from './print-body.ts'
import { printFields, printHeading, printItem } from './print-fields.ts'
import { wrapText } from './wrap-text.ts'

/** How much of it. */
export interface StoryTerms {
  /** Every attempt, header and line of the body. */
  readonly full: boolean
  /** What operators keep still: an event that is due and does not run may be of one. */
  readonly pauses: readonly PauseRecord[]
}

const ATTEMPTS_MAX = 5

export function printStory(shell: Shell, story: ShownEvent, { full, pauses }: StoryTerms): void {
  const { event } = story
  const paused = WAITS.includes(event.state)
    ? pauses.find((pause) => isOf(event, pause))
    : undefined
  printSummary(shell, story, paused)
  for (const run of story.runs) printRun(shell, run, full)
  printMessages(shell, story)
  printBeside(shell, story)
  printAudit(shell, story)
  if (full && event.payload === 'kept') {
    printHeading(shell, 'Headers')
    for (const [name, value] of Object.entries(event.headers))
      printFields(shell, [[name, [value].flat().join(', ')]])
  }
  printBody(shell, event, full ? Infinity : undefined)
  const next = describeNext(event, { isPaused: paused !== undefined })
  if (next.length > 0) printHeading(shell, 'What you can do')
  printFields(shell, next)
}

const WAITS: readonly EventState[] = ['ready', 'waiting']

function isOf({ source, lane }: ShownEvent['event'], pause: PauseRecord): boolean {
  if (pause.kind === 'lane') return pause.source === source && pause.name === lane
  return pause.kind === 'source' && pause.name === source
}

function describePause({ kind, actor, reason, pausedAt }: PauseRecord): string {
  const by = actor === undefined ? '' : ` by ${actor}`
  return `its ${kind}${by}, ${formatTime(pausedAt)}${reason === undefined ? '' : `: ${reason}`}`
}

function printSummary(shell: Shell, { event }: ShownEvent, paused: PauseRecord | undefined): void {
  shell.print(`Event ${escapeText(event.id)}`)
  const again = event.deliveries - 1
  printFields(shell, [
    ['state', event.state, STATE_STYLES[event.state]],
    ['reason', event.reason],
    ['source', event.source],
    ['type', event.type],
    ['key', event.key],
    ['received', formatTime(event.receivedAt)],
    ['occurred', formatTime(event.occurredAt)],
    ['next run', formatTime(event.nextRunAt)],
    ['settled', formatTime(event.outcome?.settledAt)],
    ['attempts', String(event.attempts)],
    ['crashes', event.crashes === 0 ? undefined : String(event.crashes)],
    ['lane', event.lane],
    ['blocked by', describeBlocker(event.blockedBy)],
    ['paused', paused && describePause(paused), 'yellow'],
    ['delivered', again < 1 ? undefined : `${again} more ${again === 1 ? 'time' : 'times'}`],
    ['verified by', event.verifiedBy && `secret ${event.verifiedBy}`],
    ['version', event.version],
    ['sequence', event.sequence],
    ['payload', event.payload === 'kept' ? undefined : event.payload],
  ])
}

function describeBlocker(blocker: ShownEvent['event']['blockedBy']): string | undefined {
  if (blocker === undefined) return undefined
  const { reason, eventId, state, until } = blocker
  const which =
    eventId === undefined ? '' : ` (event ${eventId}${state === undefined ? '' : `, ${state}`})`
  return `${reason}${which}${until === undefined ? '' : `, until ${formatTime(until)}`}`
}

function printRun(
  shell: Shell,
  { run, outcome, failures, steps, replay }: ShownRun,
  full: boolean,
): void {
  if (outcome === undefined && failures.length === 0 && steps.length === 0 && replay === undefined)
    return
  const ended =
    outcome === undefined
      ? 'has not ended'
      : `${outcome.state} ${formatTime(outcome.settledAt)}, took ${formatSpan(outcome.durationMs)}`
  printHeading(shell, `Run ${run}: ${ended}`)
  if (replay !== undefined)
    printItem(
      shell,
      `replayed by ${replay.actor ?? 'an operator'}: ${replay.reason ?? ''}${replay.freshKeys ? ' (fresh keys)' : ''}`,
    )
  const shown = full ? failures : failures.slice(-ATTEMPTS_MAX)
  if (shown.length < failures.length)
    printItem(
      shell,
      `… ${failures.length - shown.length} earlier attempts: --full shows them`,
      'dim',
    )
  for (const failure of shown) printFailure(shell, failure, full)
  for (const { handler, name, kind, state, starts } of steps)
    printItem(
      shell,
      `step ${handler}/${name}  ${kind}  ${state}${starts > 1 ? `, started ${starts} times` : ''}`,
      state === 'started' ? 'yellow' : undefined,
    )
  if (full && outcome?.result !== undefined) printItem(shell, `result ${outcome.result}`)
}

/** Its message is what the person has come for, so that it is not cut. */
function printFailure(
  shell: Shell,
  { attempt, failedAt, handler, message, reason, stack }: ShownRun['failures'][number],
  full: boolean,
): void {
  printItem(shell, `attempt ${attempt}  ${formatMoment(failedAt)}  in ${handler ?? reason}`)
  for (const line of wrapText(escapeText(message), shell.columns - 4))
    shell.print(paint(shell, 'red', `    ${line}`))
  if (full)
    for (const line of (stack ?? '').split('\n')) printItem(shell, `    ${line.trim()}`, 'dim')
}

function printMessages(shell: Shell, { messages, hasMoreMessages }: ShownEvent): void {
  if (messages.length === 0) return
  printHeading(shell, 'Messages')
  for (const { id, destination, state, reason } of messages)
    printItem(
      shell,
      `${id}  ${state}  to ${destination}${reason === undefined ? '' : `: ${reason}`}`,
      STATE_STYLES[state],
    )
  if (hasMoreMessages) printItem(shell, '… and more', 'dim')
}

function printBeside(shell: Shell, { firstEventId, beside, difference }: ShownEvent): void {
  if (firstEventId === undefined && beside.length === 0) return
  printHeading(shell, 'Others with its key')
  if (firstEventId !== undefined) printItem(shell, `${firstEventId}  came first, and has the key`)
  for (const { event, hasSameBody } of beside)
    printItem(shell, `${event.id}  ${event.state}  ${hasSameBody ? 'same body' : 'another body'}`)
  if (difference?.kind === 'json')
    for (const { path, change, before, after } of difference.differences)
      printItem(
        shell,
        `${path} ${change}: ${before ?? 'nothing'} -> ${after ?? 'nothing'}`,
        'yellow',
      )
  if (difference?.kind === 'bytes' && difference.differsAt !== undefined)
    printItem(shell, `the bodies differ from byte ${difference.differsAt} on`, 'yellow')
}

function printAudit(shell: Shell, { audit }: ShownEvent): void {
  if (audit.length === 0) return
  printHeading(shell, 'What operators did')
  for (const { at, actor, action, reason } of audit)
    printItem(
      shell,
      `${formatMoment(at)}  ${action} by ${actor ?? 'unknown'}${reason === undefined ? '' : `: ${reason}`}`,
    )
}
