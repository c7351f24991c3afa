/**
 * `hookonce messages`: what handlers have sent, and what waits for a person.
 *
 * @module
 */

import type { Command } from 'commander'
import type { MessageRecord } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { actOnEach } from '../act-on-each.ts'
import { EXIT } from '../exit-codes.ts'
import {
  readMessageFilter,
  withActionFlags,
  withOperator,
  withOperatorFlags,
} from '../operator-flags.ts'
import type { ActionFlags, OperatorFlags } from '../operator-flags.ts'
import { STATE_STYLES } from '../output/paint.ts'
import { printFields, printHeading, printItem } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { printMessages } from '../output/print-messages.ts'
import { formatMoment, formatTime } from '../output/times.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

interface ListFlags extends OperatorFlags {
  readonly limit: number
  readonly cursor?: string
}

const LIST_EXAMPLES = `
A filter is made of terms, and all of them must hold:
  state:dead,unknown  destination:crm  after:2h  before:2026-11-16T03:00Z
  text:timeout        stands in what failed attempts say

Examples:
  hookonce messages list
  hookonce messages list state:ready destination:warehouse`

export function addMessages(program: Command, shell: Shell): void {
  const messages = program.command('messages').description('what handlers have sent')
  withOperatorFlags(messages.command('list'))
    .description(
      'messages that fit, newest first: those that wait for a person unless a state is given',
    )
    .argument('[filter...]', 'which messages, such as state:ready destination:warehouse after:2h')
    .option('--limit <n>', 'how many at most, up to 1000', readLimit, 50)
    .option('--cursor <cursor>', 'where the page before ended')
    .addHelpText('after', LIST_EXAMPLES)
    .action(async (words: string[], flags: ListFlags) => list(shell, words, flags))
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

async function list(shell: Shell, words: readonly string[], flags: ListFlags): Promise<void> {
  const { limit, cursor, json } = flags
  const filter = readMessageFilter(words)
  const { state = ['dead', 'unknown'] } = filter
  const query = { ...filter, state, limit, ...(cursor !== undefined && { cursor }) }
  const page = await withOperator(shell, flags, (operator) => operator.listMessages(query))
  const { messages } = page
  if (messages.length === 0) shell.endWith(EXIT.nothing)
  if (json === true) return printJson(shell, page)
  if (messages.length > 0) printMessages(shell, messages.map(withReason))
  else shell.printError(words.length === 0 ? 'No message waits for a person.' : 'No message fits.')
  if (page.cursor !== undefined)
    shell.printError(
      `Looked at ${page.lookedAt} messages. There may be more:\n  --cursor ${escapeText(page.cursor)}`,
    )
}

/** Of one that is tried again, its last failure says why. */
function withReason(message: MessageRecord): MessageRecord {
  return { ...message, reason: message.reason ?? message.failures.at(-1)?.message }
}

async function show(shell: Shell, id: string, flags: OperatorFlags): Promise<void> {
  const message = await withOperator(shell, flags, (operator) => operator.findMessage(id))
  if (message === undefined) {
    shell.printError(`There is no message ${escapeText(id)}.`)
    return shell.endWith(EXIT.nothing)
  }
  if (flags.json === true) return printJson(shell, message)
  shell.print(`Message ${escapeText(message.id)}`)
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
