/**
 * `hookonce stats` and `hookonce workers`: how things stand, and who works.
 *
 * @module
 */

import { Option } from 'commander'
import type { Command } from 'commander'
import type { CollectedStats, Count, EventState, WorkerStats } from '../../index.ts'
import { EXIT } from '../exit-codes.ts'
import { withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { STATE_STYLES } from '../output/paint.ts'
import { printFields, printHeading, printItem } from '../output/print-fields.ts'
import type { Field } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatTime } from '../output/times.ts'
import type { Shell } from '../shell.ts'

interface StatsFlags extends OperatorFlags {
  readonly source?: string
  readonly over: 'hour' | 'day'
}

export function addStats(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('stats'))
    .description('how things stand: events by state, what is due, rates, messages, workers')
    .option('--source <name>', 'of this source')
    .addOption(
      new Option('--over <time>', 'the time of the rates').choices(['hour', 'day']).default('hour'),
    )
    .addHelpText('after', '\nExamples:\n  hookonce stats\n  hookonce stats --over day --json')
    .action(async (flags: StatsFlags) => {
      const { source, over } = flags
      const stats = await withOperator(shell, flags, (operator) =>
        operator.stats({ over, ...(source !== undefined && { source }) }),
      )
      if (flags.json === true) printJson(shell, stats)
      else printStats(shell, stats, over)
    })
}

/** `hookonce workers`. */
export function addWorkers(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('workers'))
    .description('which workers live, and what each has in hand')
    .addHelpText('after', '\nExamples:\n  hookonce workers')
    .action(async (flags: OperatorFlags) => {
      const { workers, at } = await withOperator(shell, flags, (operator) => operator.stats())
      if (workers.length === 0) shell.endWith(EXIT.nothing)
      if (flags.json === true) return printJson(shell, workers)
      if (workers.length === 0)
        return shell.printError(
          'No worker runs: events are stored, and wait. hookonce start --role work starts one.',
        )
      for (const worker of workers) printWorker(shell, worker, at)
    })
}

function printStats(shell: Shell, stats: CollectedStats, over: StatsFlags['over']): void {
  const states = (Object.entries(stats.states) as [EventState, Count][]).filter(
    ([, { count }]) => count > 0,
  )
  shell.print('Events')
  if (states.length === 0) shell.print('  none')
  printFields(
    shell,
    states.map(([state, count]): Field => [state, formatCount(count), STATE_STYLES[state]]),
  )
  const { due, oldestDueAt } = stats.queue
  printHeading(shell, 'Queue')
  printFields(shell, [
    ['due', formatCount(due)],
    ['oldest due', formatTime(oldestDueAt, stats.at)],
    [
      'workers',
      stats.workers.length === 0 ? 'none: nothing runs' : String(stats.workers.length),
      stats.workers.length === 0 ? 'red' : undefined,
    ],
    [
      `in the last ${over}`,
      `${sum(stats.rates.map(({ received }) => received.count))} received, ${sum(stats.rates.map(({ settled }) => settled.done ?? 0))} done, ${sum(stats.rates.map(({ settled }) => settled.dead ?? 0))} dead`,
    ],
    ['oldest transaction', formatOldest(stats)],
  ])
  if (stats.sources.length > 0) printSources(shell, stats)
  if (stats.messages.length > 0) printHeading(shell, 'Messages')
  for (const { destination, state, ...count } of stats.messages)
    printItem(shell, `${formatCount(count)} ${state} to ${destination}`, STATE_STYLES[state])
  if (stats.pauses.length > 0) printHeading(shell, 'Paused')
  for (const { kind, name, reason } of stats.pauses)
    printItem(shell, `${kind} ${name}${reason === undefined ? '' : `: ${reason}`}`, 'yellow')
}

/** Where the database can tell: one that stays open keeps the queue's table from being cleaned up. */
function formatOldest({ openTransactions, at }: CollectedStats): string | undefined {
  const oldest = openTransactions?.find(({ since }) => since !== undefined)
  if (oldest === undefined) return openTransactions === undefined ? undefined : 'none is open'
  return `${oldest.kind} ${oldest.name}, begun ${formatTime(oldest.since, at)}`
}

function printSources(shell: Shell, { sources }: CollectedStats): void {
  shell.print('')
  printTable(
    shell,
    [
      { head: 'source', cell: ({ source }) => source },
      {
        head: 'events',
        cell: ({ states }) =>
          Object.entries(states)
            .map(([state, count]) => `${count} ${state}`)
            .join(', '),
      },
    ],
    sources,
  )
}

function printWorker(shell: Shell, { workerId, beatAt, running }: WorkerStats, now: Date): void {
  printItem(shell, `${workerId}  seen ${formatAge(beatAt, now)} ago, runs ${running.length}`)
  for (const { eventId, source, type, attempt, since } of running)
    printItem(
      shell,
      `  ${eventId}  ${source} ${type}  attempt ${attempt}${since === undefined ? '' : `, for ${formatAge(since, now)}`}`,
    )
}

function formatCount({ count, isExact }: Count): string {
  return isExact ? String(count) : `${count} or more`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
