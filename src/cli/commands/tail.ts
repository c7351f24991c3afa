/**
 * `hookonce tail`: a line for each event as it comes, and one for each change of its state, until Ctrl-C.
 *
 * The store is asked once a second for the newest events. That works for every store and from every machine, and costs
 * what one page of a list costs.
 *
 * @module
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Command } from 'commander'
import type { EventFilter, EventSummary, StandaloneOperator } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { readFilter, withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { cutText, padText } from '../output/display-width.ts'
import { paint, STATE_STYLES } from '../output/paint.ts'
import { printItem } from '../output/print-fields.ts'
import { printJsonLine } from '../output/print-json.ts'
import { formatMoment } from '../output/times.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

const LOOK_EVERY_MS = 1_000
const PAGE = 100
/** So many events between two looks are followed one by one. */
const PAGES_MAX = 10

interface TailFlags extends OperatorFlags {
  readonly last: number
}

export function addTail(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('tail'))
    .description('follow events as they come: a line for each, and for each change of its state')
    .argument('[filter...]', 'which events, such as source:stripe')
    .option('--last <n>', 'how many of the newest to begin with', readLimit, 10)
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce tail\n  hookonce tail state:dead --json | jq .error',
    )
    .action(async (words: string[], flags: TailFlags) => {
      const filter = readFilter(words)
      await withOperator(shell, flags, (operator) => follow(shell, operator, filter, flags))
    })
}

async function follow(
  shell: Shell,
  operator: StandaloneOperator,
  filter: EventFilter,
  { last, json }: TailFlags,
): Promise<void> {
  const { interrupted } = shell
  const followed = new Followed()
  const first = await operator.list({ ...filter, limit: last })
  followed.begin(first.events)
  if (json !== true) shell.printError('Following events. Ctrl-C ends it.')
  for (
    let changed = first.events.toReversed();
    ;
    changed = await look(operator, filter, followed)
  ) {
    for (const event of changed)
      if (json === true) printJsonLine(shell, event)
      else printLine(shell, event)
    if (interrupted.aborted) return
    await wait(LOOK_EVERY_MS, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
  }
}

/** What is new or has changed, oldest first. */
async function look(
  operator: StandaloneOperator,
  filter: EventFilter,
  followed: Followed,
): Promise<EventSummary[]> {
  const found: EventSummary[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await operator.list({
      ...filter,
      limit: PAGE,
      ...(cursor !== undefined && { cursor }),
    })
    found.push(...page.events)
    const oldest = page.events.at(-1)
    // What is older than the first look was never to be shown.
    if (page.cursor === undefined || oldest === undefined || followed.isBefore(oldest)) break
    if (page.events.some(({ id }) => followed.has(id))) break
    cursor = page.cursor
  }
  return followed.take(found).toReversed()
}

/** Which events were shown, and in which state. */
class Followed {
  readonly #states = new Map<string, string>()
  #floor = ''

  begin(events: readonly EventSummary[]): void {
    this.#floor = events.at(-1)?.id ?? ''
    this.take(events)
  }

  has(id: string): boolean {
    return this.#states.has(id)
  }

  isBefore({ id }: EventSummary): boolean {
    return id < this.#floor
  }

  /** Those that were not shown so. */
  take(events: readonly EventSummary[]): EventSummary[] {
    const fresh = events.filter(
      (event) => !this.isBefore(event) && this.#states.get(event.id) !== stateOf(event),
    )
    for (const event of fresh) this.#states.set(event.id, stateOf(event))
    // What is far behind the newest does not change any more, or is not looked at.
    for (const id of this.#states.keys()) {
      if (this.#states.size <= 2 * PAGES_MAX * PAGE) break
      this.#states.delete(id)
    }
    return fresh
  }
}

function stateOf({ state, run, attempts }: EventSummary): string {
  return `${state} ${run} ${attempts}`
}

function printLine(shell: Shell, event: EventSummary): void {
  const { id, state, source, type, key, error, reason, receivedAt } = event
  const head = `${formatMoment(receivedAt).slice(11)}  ${id}  `
  const rest = `${source} ${type}${key === undefined ? '' : ` ${key}`}`
  const room = shell.columns - head.length - STATE_COLUMNS - 2
  const painted = paint(shell, STATE_STYLES[state], padText(state, STATE_COLUMNS))
  shell.print(`${head}${painted}  ${cutText(escapeText(rest), room)}`.trimEnd())
  const why = error ?? reason
  if (why !== undefined) printItem(shell, why, 'dim')
}

/** `running` and `waiting`; the longer ones are rare. */
const STATE_COLUMNS = 7
