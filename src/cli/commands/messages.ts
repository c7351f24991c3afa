/**
 * `hookonce messages`: what handlers have sent, and what waits for a person.
 *
 * @module
 */

import { Option } from 'commander'
import type { Command } from 'commander'
import { MESSAGE_STATES } from '../../index.ts'
import type { MessageRecord, MessageState } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { actOnEach } from '../act-on-each.ts'
import { EXIT } from '../exit-codes.ts'
import { withActionFlags, withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { ActionFlags, OperatorFlags } from '../operator-flags.ts'
import { STATE_STYLES } from '../output/paint.ts'
import { printFields, printHeading, printItem } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatMoment, formatTime } from '../output/times.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

interface ListFlags extends OperatorFlags {
  readonly state?: MessageState
  readonly destination?: string
  readonly limit: number
}

export function addMessages(program: Command, shell: Shell): void {
  const messages = program.command('messages').description('what handlers have sent')
  withOperatorFlags(messages.command('list'))
    .description('the messages in a state, latest first')
    .addOption(
      new Option('--state <state>', 'default: dead and unknown, which wait for a person').choices(
        MESSAGE_STATES,
      ),
    )
    .option('--destination <name>', 'to this destination')
    .option('--limit <n>', 'how many at most', readLimit, 50)
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce messages list\n  hookonce messages list --state ready --destination warehouse',
    )
    .action(async (flags: ListFlags) => list(shell, flags))
  withOperatorFlags(messages.command('show'))
    .description('all that is known of one message')
    .argument('<id>', 'the id of the message')
    .addHelpText('after', '\nExamples:\n  hookonce messages show <id>')
    .action(async (id: string, flags: OperatorFlags) => show(shell, id, flags))
  addAction(messages, shell, {
    name: 'retry',
    description: 'send dead or unknown messages again, each under its own key',
    method: 'retryMessage',
    did: 'is sent again',
    asks: 'An unknown message may have arrived: it can then happen twice. Send',
  })
  addAction(messages, shell, {
    name: 'confirm',
    description: 'say that unknown messages have arrived',
    method: 'confirmMessage',
    did: 'counts as sent',
  })
  addAction(messages, shell, {
    name: 'discard',
    description: 'drop messages that are not sent and not on their way',
    method: 'discardMessage',
    did: 'is discarded',
    asks: 'It is never sent. Discard',
  })
}

interface MessageCommand {
  readonly name: string
  readonly description: string
  readonly method: 'retryMessage' | 'confirmMessage' | 'discardMessage'
  readonly did: string
  readonly asks?: string
}

function addAction(messages: Command, shell: Shell, command: MessageCommand): void {
  const { name, description, method, did, asks } = command
  const added = withActionFlags(messages.command(name))
    .description(description)
    .argument('<id...>', 'the ids of messages')
    .addHelpText(
      'after',
      `\nExamples:\n  hookonce messages ${name} <id> --reason 'looked at the other side'`,
    )
  if (asks !== undefined) added.option('--yes', 'without asking')
  added.action(async (ids: string[], flags: ActionFlags) => {
    const what = ids.length === 1 ? `message ${ids[0]}` : `${ids.length} messages`
    await actOnEach(shell, flags, {
      ids,
      question: asks && `${asks} ${what}?`,
      did: (id) => `${id} ${did}.`,
      act: (operator, id, options) => operator[method](id, options),
    })
  })
}

async function list(shell: Shell, flags: ListFlags): Promise<void> {
  const { state, destination, limit } = flags
  const states: readonly MessageState[] = state === undefined ? ['unknown', 'dead'] : [state]
  const found = await withOperator(shell, flags, async (operator) => {
    const pages: MessageRecord[] = []
    for (const each of states)
      pages.push(
        ...(await operator.listMessages({
          state: each,
          limit,
          ...(destination !== undefined && { destination }),
        })),
      )
    return pages.slice(0, limit)
  })
  if (found.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, found)
  if (found.length === 0)
    return shell.printError(
      state === undefined ? 'No message waits for a person.' : `No message is ${state}.`,
    )
  printTable<MessageRecord>(
    shell,
    [
      { head: 'message', cell: ({ id }) => id, isWhole: true },
      {
        head: 'state',
        cell: (one) => one.state,
        isWhole: true,
        style: (one) => STATE_STYLES[one.state],
      },
      { head: 'age', cell: ({ createdAt }) => formatAge(createdAt), isWhole: true, dispensable: 2 },
      { head: 'to', cell: (one) => one.destination },
      { head: 'tries', cell: ({ attempts }) => String(attempts), isWhole: true, dispensable: 3 },
      { head: 'event', cell: ({ eventId }) => eventId ?? '', isWhole: true, dispensable: 4 },
    ],
    found,
    { note: ({ reason, failures }) => reason ?? failures.at(-1)?.message },
  )
}

async function show(shell: Shell, id: string, flags: OperatorFlags): Promise<void> {
  const message = await withOperator(shell, flags, (operator) => operator.findMessage(id))
  if (message === undefined) {
    shell.printError(`There is no message ${escapeText(id)}.`)
    return shell.endWith(EXIT.nothing)
  }
  if (flags.json === true) return printJson(shell, message)
  shell.print(`Message ${message.id}`)
  printFields(shell, [
    ['state', message.state, STATE_STYLES[message.state]],
    ['reason', message.reason],
    ['to', message.destination],
    ['key', message.key],
    ['event', message.eventId],
    ['written', formatTime(message.createdAt)],
    ['next send', formatTime(message.sendAt)],
    ['uncertain', message.uncertainSince && `since ${formatTime(message.uncertainSince)}`],
    ['settled', formatTime(message.outcome?.settledAt)],
    ['answer', message.outcome?.response && String(message.outcome.response.status)],
    ['body', `${message.contentType}, ${message.body.byteLength} bytes`],
  ])
  if (message.failures.length === 0) return
  printHeading(shell, 'Failed attempts')
  for (const { attempt, failedAt, reason, message: said, response } of message.failures)
    printItem(
      shell,
      `attempt ${attempt}  ${formatMoment(failedAt)}  ${reason}${response === undefined ? '' : ` ${response.status}`}: ${said}`,
      'red',
    )
}
