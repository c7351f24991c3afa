/**
 * `hookonce bulk`: the same action on many events, or messages. The plan is shown first, and kept: what was counted is what is acted
 * on, and a bulk that was interrupted goes on with `bulk resume`.
 *
 * @module
 */

import type { Command } from 'commander'
import type {
  BulkAction,
  BulkId,
  BulkPlan,
  BulkRecord,
  EventBulkAction,
  MessageBulkAction,
  MessageBulkPlan,
  PlannedBulk,
  StandaloneOperator,
} from '../../index.ts'
import { isMessageBulk } from '../../model/bulk.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import { advisePage } from '../output/advise-page.ts'
import {
  readAction,
  readFilter,
  readMessageFilter,
  withActionFlags,
  withOperator,
  withOperatorFlags,
} from '../operator-flags.ts'
import type { ActionFlags, OperatorFlags } from '../operator-flags.ts'
import { printEvents } from '../output/print-events.ts'
import { printFields } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { printMessages } from '../output/print-messages.ts'
import { printRefusal, printResults } from '../output/print-result.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatTime } from '../output/times.ts'
import { readCount, readLimit } from '../read-flags.ts'
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
  readonly cursor?: string
}

const ACTIONS: Readonly<Record<EventBulkAction, string>> = {
  retry: 'run dead events again',
  replay: 'run events once more that have ended, but for those that are done',
  release: 'run conflicts and quarantined events, each as an event of its own',
  discard: 'end events that are dead or parked: they never run',
  forget:
    'drop the keys of events that have ended, so that redeliveries run; but for those that are done',
}

const OF_MESSAGES: Readonly<Record<MessageBulkAction, readonly [name: string, does: string]>> = {
  retryMessage: ['retry-messages', 'send dead messages again, each under its own key'],
  discardMessage: ['discard-messages', 'drop messages that are dead: they are never sent'],
}

export function addBulk(program: Command, shell: Shell): void {
  const bulk = program
    .command('bulk')
    .description('the same action on many events or messages: planned, shown, then run')
  for (const [action, description] of Object.entries(ACTIONS) as [EventBulkAction, string][])
    addAction(bulk, shell, action, description)
  for (const action of Object.keys(OF_MESSAGES) as MessageBulkAction[])
    addMessageAction(bulk, shell, action)
  withActionFlags(bulk.command('resume'))
    .description('go on with one that was interrupted')
    .argument('<bulk>', 'its id')
    .option('--rate <n>', 'how many events or messages a second at most', readCount, 50)
    .addHelpText('after', '\nExamples:\n  hookonce bulk resume <bulk>')
    .action(async (id: string, flags: BulkFlags) =>
      withOperator(shell, flags, (operator) => run(shell, operator, id, flags)),
    )
  withOperatorFlags(bulk.command('list'))
    .description('those that have something left, latest first: to go on with, or to abort')
    .option('--all', 'also those that have ended or were aborted')
    .option('--limit <n>', 'how many at most, up to 1000', readLimit, 100)
    .option('--cursor <id>', 'where the page before ended')
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

function withPlanFlags(command: Command, what: 'events' | 'messages', example: string): Command {
  return command
    .argument('[filter...]', `which ${what}, such as ${example}`)
    .option('--rate <n>', `how many ${what} a second at most`, readCount, 50)
    .option('--dry-run', 'show the plan, and do nothing')
    .option('--yes', 'without asking')
}

function addMessageAction(bulk: Command, shell: Shell, action: MessageBulkAction): void {
  const [name, description] = OF_MESSAGES[action]
  const needsReason = action !== 'retryMessage'
  const command = withActionFlags(bulk.command(name), { needsReason }).description(description)
  const reason = needsReason ? " --reason 'they are out of date'" : ''
  withPlanFlags(command, 'messages', 'destination:crm after:2h')
    .addHelpText(
      'after',
      `\nExamples:\n  hookonce bulk ${name} destination:crm after:2h${reason}\n  hookonce bulk ${name} state:dead,unknown destination:crm${reason} --yes --rate 200`,
    )
    .action(async (words: string[], flags: BulkFlags) => {
      const asked: MessageBulkPlan = {
        action,
        filter: readMessageFilter(words),
        ...readAction(shell, flags),
      }
      await withOperator(shell, flags, (operator) => plan(shell, operator, asked, flags))
    })
}

function addAction(
  bulk: Command,
  shell: Shell,
  action: EventBulkAction,
  description: string,
): void {
  const command = withPlanFlags(
    withActionFlags(bulk.command(action), { needsReason: action !== 'retry' }).description(
      description,
    ),
    'events',
    'source:stripe after:2h',
  )
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
    .action(async (words: string[], flags: BulkFlags) => {
      const asked: BulkPlan = {
        action,
        filter: readFilter(words),
        ...readAction(shell, flags),
        ...(action === 'replay' && {
          freshKeys: flags.freshKeys === true,
          onlyIfNotApplied: flags.applied !== true,
        }),
      }
      await withOperator(shell, flags, (operator) => plan(shell, operator, asked, flags))
    })
}

async function plan(
  shell: Shell,
  operator: StandaloneOperator,
  asked: BulkPlan | MessageBulkPlan,
  flags: BulkFlags,
): Promise<void> {
  const planned = await operator.bulk.plan(asked)
  const what = describeMany(asked.action, planned.count)
  if (planned.count === 0) {
    shell.endWith(EXIT.nothing)
    if (flags.json === true) return printJson(shell, planned)
    return shell.printError('Nothing fits, so that there is nothing to do.')
  }
  if (flags.json !== true) printPlan(shell, what, planned)
  if (flags.dryRun === true)
    return flags.json === true
      ? printJson(shell, planned)
      : shell.print(
          `Nothing was done. To run it:\n  hookonce bulk resume ${escapeText(planned.id)}`,
        )
  if (!(await confirm(shell, `${what}?`, flags))) {
    const { requestToken: _, ...asked } = flags
    await operator.bulk.abort(planned.id, readAction(shell, asked))
    return shell.endWith(EXIT.failed)
  }
  // The token stands for the plan: what was planned is run once, however often.
  const { requestToken: _, ...own } = flags
  await run(shell, operator, planned.id, own)
}

/** `retry 12 events`. */
function describeMany(action: BulkAction, count: number): string {
  const what = isMessageBulk(action) ? 'message' : 'event'
  const does = action.replace('Message', '')
  return `${does} ${count} ${count === 1 ? what : `${what}s`}`
}

function printPlan(shell: Shell, what: string, planned: PlannedBulk): void {
  const { id, count, sample, messages, isComplete } = planned
  shell.print(`Bulk ${escapeText(id)}: ${what}`)
  if (sample.length > 0) printEvents(shell, sample)
  if (messages.length > 0) printMessages(shell, messages)
  const shown = sample.length + messages.length
  if (count > shown) shell.print(`… and ${count - shown} more`)
  if (!isComplete) shell.print('These are not all that fit: run this one, and plan again.')
}

async function run(
  shell: Shell,
  operator: StandaloneOperator,
  id: BulkId,
  { rate, json, ...flags }: BulkFlags,
): Promise<void> {
  const options = { ratePerSecond: rate, ...readAction(shell, flags) }
  const started = await operator.bulk.run(id, options)
  if (started.status === 'refused') {
    if (json === true) printJson(shell, started)
    else printRefusal(shell, id, started)
    return shell.endWith(started.code === 'BULK_UNKNOWN' ? EXIT.nothing : EXIT.failed)
  }
  const end = await followBulk(shell, operator, id, started.ended)
  const record = await operator.bulk.find(id)
  if (end.status !== 'finished') shell.endWith(EXIT.failed)
  if (json === true) return printJson(shell, { end: end.status, ...record })
  if (record !== undefined) shell.print(escapeText(describe(record)))
  if (end.status === 'finished') return
  const why = end.error instanceof Error ? `: ${escapeText(end.error.message)}` : ''
  shell.printError(
    end.status === 'aborted'
      ? 'It was aborted.'
      : `It ${end.status}${why}. To go on:\n  hookonce bulk resume ${escapeText(id)}`,
  )
}

function describe({ done, refused, left }: BulkRecord): string {
  const codes = Object.entries(refused).map(([code, count]) => `${count} refused (${code})`)
  return [`${done} done`, ...codes, ...(left === 0 ? [] : [`${left} left`])].join(', ')
}

async function list(
  shell: Shell,
  { all = false, limit, cursor, ...flags }: ListFlags,
): Promise<void> {
  const bulks = await withOperator(shell, flags, (operator) =>
    operator.bulk.list({ all, limit, ...(cursor !== undefined && { cursor }) }),
  )
  if (bulks.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, bulks)
  if (bulks.length === 0)
    return shell.printError(all ? 'There is no bulk.' : 'No bulk has anything left.')
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
  advisePage(shell, bulks, limit)
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
  const shownId = escapeText(record.id)
  shell.print(`Bulk ${shownId}`)
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
      `\nhookonce bulk resume ${shownId}   to go on\nhookonce bulk abort ${shownId}    to leave the rest`,
    )
}
