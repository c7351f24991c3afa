/**
 * `hookonce bulk`: the same action on many events. The plan is shown first, and kept: what was counted is what is acted
 * on, and a bulk that was interrupted goes on with `bulk resume`.
 *
 * @module
 */

import type { Command } from 'commander'
import type {
  BulkAction,
  BulkId,
  BulkRecord,
  PlannedBulk,
  StandaloneOperator,
} from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import {
  readAction,
  readFilter,
  withActionFlags,
  withOperator,
  withOperatorFlags,
} from '../operator-flags.ts'
import type { ActionFlags, OperatorFlags } from '../operator-flags.ts'
import { printEvents } from '../output/print-events.ts'
import { printFields } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { printRefusal, printResults } from '../output/print-result.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatTime } from '../output/times.ts'
import { readCount } from '../read-flags.ts'
import { followBulk } from '../follow-bulk.ts'
import type { Shell } from '../shell.ts'

interface BulkFlags extends ActionFlags {
  readonly rate: number
  readonly dryRun?: boolean
  readonly freshKeys?: boolean
  readonly applied?: boolean
}

interface ListFlags extends OperatorFlags {
  readonly all?: boolean
  readonly limit: number
}

const ACTIONS: Readonly<Record<BulkAction, string>> = {
  retry: 'run dead events again',
  replay: 'run events once more that have ended, but for those that are done',
  release: 'run conflicts and quarantined events, each as an event of its own',
  discard: 'end events that are dead or parked: they never run',
}

export function addBulk(program: Command, shell: Shell): void {
  const bulk = program
    .command('bulk')
    .description('the same action on many events: planned, shown, then run')
  for (const [action, description] of Object.entries(ACTIONS) as [BulkAction, string][])
    addAction(bulk, shell, action, description)
  withOperatorFlags(bulk.command('resume'))
    .description('go on with one that was interrupted')
    .argument('<bulk>', 'its id')
    .option('--rate <n>', 'how many events a second at most', readCount, 50)
    .addHelpText('after', '\nExamples:\n  hookonce bulk resume <bulk>')
    .action(async (id: string, flags: BulkFlags) =>
      withOperator(shell, flags, (operator) => run(shell, operator, id, flags)),
    )
  withOperatorFlags(bulk.command('list'))
    .description('those that have events left, latest first: to go on with, or to abort')
    .option('--all', 'also those that have ended or were aborted')
    .option('--limit <n>', 'how many at most', readCount, 100)
    .addHelpText('after', '\nExamples:\n  hookonce bulk list\n  hookonce bulk list --all --json')
    .action(async (flags: ListFlags) => list(shell, flags))
  withOperatorFlags(bulk.command('show'))
    .description('how far one has come')
    .argument('<bulk>', 'its id')
    .addHelpText('after', '\nExamples:\n  hookonce bulk show <bulk> --json')
    .action(async (id: string, flags: OperatorFlags) => show(shell, id, flags))
  withActionFlags(bulk.command('abort'))
    .description('do nothing more of it, in any process; what was done stays')
    .argument('<bulk>', 'its id')
    .addHelpText('after', '\nExamples:\n  hookonce bulk abort <bulk>')
    .action(async (id: string, flags: ActionFlags) => {
      const result = await withOperator(shell, flags, (operator) =>
        operator.bulk.abort(id, readAction(shell, flags)),
      )
      printResults(shell, [{ subject: id, result }], {
        json: flags.json,
        did: () => `${id} is aborted.`,
      })
    })
}

function addAction(bulk: Command, shell: Shell, action: BulkAction, description: string): void {
  const command = withActionFlags(bulk.command(action), { needsReason: action !== 'retry' })
    .description(description)
    .argument('[filter...]', 'which events, such as source:stripe after:2h')
    .option('--rate <n>', 'how many events a second at most', readCount, 50)
    .option('--dry-run', 'show the plan, and do nothing')
    .option('--yes', 'without asking')
  if (action === 'replay')
    command
      .option(
        '--fresh-keys',
        'with idempotency keys of their own: outside calls are made once more',
      )
      .option('--applied', 'also those of which a run has ended as done')
  const reason = action === 'retry' ? '' : " --reason 'the warehouse is back'"
  command
    .addHelpText(
      'after',
      `\nExamples:\n  hookonce bulk ${action} source:stripe after:2h${reason}\n  hookonce bulk ${action} 'text:connection refused'${reason} --yes --rate 200`,
    )
    .action(async (words: string[], flags: BulkFlags) =>
      withOperator(shell, flags, (operator) => plan(shell, operator, { action, words, flags })),
    )
}

interface Asked {
  readonly action: BulkAction
  readonly words: readonly string[]
  readonly flags: BulkFlags
}

async function plan(
  shell: Shell,
  operator: StandaloneOperator,
  { action, words, flags }: Asked,
): Promise<void> {
  const { reason, actor } = readAction(shell, flags)
  const planned = await operator.bulk.plan({
    action,
    filter: readFilter(words),
    ...(reason !== undefined && { reason }),
    ...(actor !== undefined && { actor }),
    ...(action === 'replay' && {
      freshKeys: flags.freshKeys === true,
      onlyIfNotApplied: flags.applied !== true,
    }),
  })
  if (planned.count === 0) {
    shell.endWith(EXIT.nothing)
    if (flags.json === true) return printJson(shell, planned)
    return shell.printError('No event fits, so that there is nothing to do.')
  }
  if (flags.json !== true) printPlan(shell, action, planned)
  if (flags.dryRun === true)
    return flags.json === true
      ? printJson(shell, planned)
      : shell.print(`Nothing was done. To run it:\n  hookonce bulk resume ${planned.id}`)
  const question = `${action} ${planned.count} ${planned.count === 1 ? 'event' : 'events'}?`
  if (!(await confirm(shell, question, flags))) {
    await operator.bulk.abort(planned.id)
    return shell.endWith(EXIT.failed)
  }
  await run(shell, operator, planned.id, flags)
}

function printPlan(shell: Shell, action: BulkAction, planned: PlannedBulk): void {
  const { id, count, sample, isComplete } = planned
  shell.print(`Bulk ${id}: ${action} ${count} ${count === 1 ? 'event' : 'events'}`)
  printEvents(shell, sample)
  if (count > sample.length) shell.print(`… and ${count - sample.length} more`)
  if (!isComplete) shell.print('These are not all that fit: run this one, and plan again.')
}

async function run(
  shell: Shell,
  operator: StandaloneOperator,
  id: BulkId,
  { rate, json }: BulkFlags,
): Promise<void> {
  const started = await operator.bulk.run(id, { ratePerSecond: rate })
  if (started.status === 'refused') {
    if (json === true) printJson(shell, started)
    else printRefusal(shell, id, started)
    return shell.endWith(started.code === 'BULK_UNKNOWN' ? EXIT.nothing : EXIT.failed)
  }
  const end = await followBulk(shell, operator, id, started.ended)
  const record = await operator.bulk.find(id)
  if (end.status !== 'finished') shell.endWith(EXIT.failed)
  if (json === true) return printJson(shell, { end: end.status, ...record })
  if (record !== undefined) shell.print(describe(record))
  if (end.status === 'finished') return
  const why = end.error instanceof Error ? `: ${escapeText(end.error.message)}` : ''
  shell.printError(
    end.status === 'aborted'
      ? 'It was aborted.'
      : `It ${end.status}${why}. To go on:\n  hookonce bulk resume ${id}`,
  )
}

function describe({ done, refused, left }: BulkRecord): string {
  const codes = Object.entries(refused).map(([code, count]) => `${count} refused (${code})`)
  return [`${done} done`, ...codes, ...(left === 0 ? [] : [`${left} left`])].join(', ')
}

async function list(shell: Shell, { all = false, limit, ...flags }: ListFlags): Promise<void> {
  const bulks = await withOperator(shell, flags, (operator) => operator.bulk.list({ all, limit }))
  if (bulks.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, bulks)
  if (bulks.length === 0)
    return shell.printError(all ? 'There is no bulk.' : 'No bulk has events left.')
  printTable<BulkRecord>(
    shell,
    [
      { head: 'id', cell: ({ id }) => id, isWhole: true },
      { head: 'action', cell: ({ action }) => action, isWhole: true },
      { head: 'state', cell: stateOf, isWhole: true },
      { head: 'left', cell: ({ left, planned }) => `${left} of ${planned}`, isWhole: true },
      { head: 'age', cell: ({ createdAt }) => formatAge(createdAt), dispensable: 1 },
      { head: 'by', cell: ({ actor }) => actor ?? '', dispensable: 2 },
    ],
    bulks,
    { note: ({ reason }) => reason },
  )
}

/** That nothing is left is no state of its own, and the first thing that a person wants to know. */
function stateOf({ state, left }: BulkRecord): string {
  return state === 'planned' && left === 0 ? 'ended' : state
}

async function show(shell: Shell, id: string, flags: OperatorFlags): Promise<void> {
  const record = await withOperator(shell, flags, (operator) => operator.bulk.find(id))
  if (record === undefined) {
    shell.printError(`There is no bulk ${escapeText(id)}.`)
    return shell.endWith(EXIT.nothing)
  }
  if (flags.json === true) return printJson(shell, record)
  shell.print(`Bulk ${record.id}`)
  printFields(shell, [
    ['action', record.action],
    ['state', record.state],
    ['filter', record.filter],
    ['reason', record.reason],
    ['actor', record.actor],
    ['planned', `${record.planned}, ${formatTime(record.createdAt)}`],
    ['so far', describe(record)],
  ])
  if (record.state === 'planned' && record.left > 0)
    shell.print(
      `\nhookonce bulk resume ${record.id}   to go on\nhookonce bulk abort ${record.id}    to leave the rest`,
    )
}
