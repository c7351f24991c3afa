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
import { EventFollower } from '../../admin/follow-events.ts'
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
  const follower = new EventFollower((query) => operator.list(query), filter)
  const first = await follower.begin(last)
  if (json !== true) shell.printError('Following events. Ctrl-C ends it.')
  for (let changed = first; ; changed = await follower.look()) {
    for (const event of changed)
      if (json === true) printJsonLine(shell, event)
      else printLine(shell, event)
    if (interrupted.aborted) return
    await wait(LOOK_EVERY_MS, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
  }
}

function printLine(shell: Shell, event: EventSummary): void {
  const { state, source, type, key, error, reason, receivedAt } = event
  const id = escapeText(event.id)
  const time = formatMoment(receivedAt).slice(11)
  const about = escapeText(`${source} ${type}${key === undefined ? '' : ` ${key}`}`)
  const shown = padText(state, STATE_COLUMNS)
  const painted = paint(shell, STATE_STYLES[state], shown)
  const room = shell.columns - `${time}  ${id}  ${shown}  `.length
  if (room >= ABOUT_COLUMNS) shell.print(`${time}  ${id}  ${painted}  ${cutText(about, room)}`)
  else {
    shell.print(`${time}  ${painted}  ${cutText(about, room + id.length + 2)}`)
    // Of use only as a whole.
    shell.print(`  ${id}`)
  }
  const why = error ?? reason
  if (why !== undefined) printItem(shell, why, 'dim')
}

/** `unhandled`; `quarantined` is rare. */
const STATE_COLUMNS = 9
/** With less of it an event cannot be told from another. A terminal of 80 columns has as much beside the id. */
const ABOUT_COLUMNS = 18
