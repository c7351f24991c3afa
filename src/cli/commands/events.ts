/**
 * `hookonce events`: which events there are, and what became of one.
 *
 * @module
 */

import type { Command } from 'commander'
import type { EventPage, EventQuery, EventRecord, StandaloneOperator } from '../../index.ts'
import { toFixture } from '../../testing/index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { readFilter, withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printEvents } from '../output/print-events.ts'
import { printJson } from '../output/print-json.ts'
import { printStory } from '../output/print-story.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

export function addEvents(program: Command, shell: Shell): void {
  const events = program
    .command('events')
    .description('which events there are, and what became of one')
  withListFlags(events.command('list'))
    .description('the events that fit, newest first')
    .addHelpText('after', LIST_EXAMPLES)
    .action(async (words: string[], flags: ListFlags) =>
      printPage(shell, words, flags, (operator, query) => operator.list(query)),
    )
  withOperatorFlags(events.command('show'))
    .description('all that is known of one event, and what can be done with it')
    .argument('<id>', 'the id of the event')
    .option('--full', 'every attempt with its stack, the headers and the whole body')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce events show 019a8c5e-0000-7000-8000-000000000001',
    )
    .action(async (id: string, flags: ShowFlags) => show(shell, id, flags))
  withOperatorFlags(events.command('find'))
    .description(
      'by what you were given: the id of an event, or the key that its sender knows it by',
    )
    .argument('<id-or-key>')
    .addHelpText('after', '\nExamples:\n  hookonce events find evt_1RqPz')
    .action(async (idOrKey: string, flags: OperatorFlags) => find(shell, idOrKey, flags))
  withOperatorFlags(events.command('body'))
    .description('the body as it came, byte for byte; on a terminal what would steer it is escaped')
    .argument('<id>', 'the id of the event')
    .option('--request', 'of the whole request, where the event was a part of one')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce events body <id> > body.json\n  hookonce events body <id> | jq .',
    )
    .action(async (id: string, flags: BodyFlags) => writeBody(shell, id, flags))
  withOperatorFlags(events.command('export'))
    .description('an event as a file for the test kit: deliverFixture(file)')
    .argument('<id>', 'the id of the event')
    .requiredOption('--fixture', 'as a fixture: without signatures, tokens and cookies')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce events export <id> --fixture > test/fixtures/invoice-paid.json',
    )
    .action(async (id: string, flags: OperatorFlags) => exportFixture(shell, id, flags))
}

/** `hookonce failures`: those that did not succeed, and will not by themselves. */
export function addFailures(program: Command, shell: Shell): void {
  withListFlags(program.command('failures'))
    .description('what did not succeed and will not by itself, with why')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce failures\n  hookonce failures source:stripe after:1d --json',
    )
    .action(async (words: string[], flags: ListFlags) =>
      printPage(
        shell,
        words,
        flags,
        (operator, query) => operator.failures(query),
        'Nothing has failed for good.',
      ),
    )
}

const LIST_EXAMPLES = `
A filter is made of terms, and all of them must hold:
  state:dead,unhandled  source:stripe  type:invoice.paid  key:evt_1  attempts:3
  after:2h  before:2026-11-16T03:00Z  lane:stripe/cus_9
  text:timeout          stands in what failed attempts say
  '$.data.customer=cus_9'   a value in the payload

Examples:
  hookonce events list
  hookonce events list state:dead source:stripe after:2h
  hookonce events list 'text:card declined' '$.data.customer=cus_9' --json`

interface ListFlags extends OperatorFlags {
  readonly limit: number
  readonly cursor?: string
}

interface ShowFlags extends OperatorFlags {
  readonly full?: boolean
}

interface BodyFlags extends OperatorFlags {
  readonly request?: boolean
}

function withListFlags(command: Command): Command {
  return withOperatorFlags(command)
    .argument('[filter...]', 'which events, such as state:dead source:stripe after:2h')
    .option('--limit <n>', 'how many at most, up to 1000', readLimit, 50)
    .option('--cursor <cursor>', 'where the page before ended')
}

async function printPage(
  shell: Shell,
  words: readonly string[],
  flags: ListFlags,
  ask: (operator: StandaloneOperator, query: EventQuery) => Promise<EventPage>,
  none = 'There are no events. hookonce trigger sends one; hookonce doctor checks that they can arrive.',
): Promise<void> {
  const { limit, cursor, json } = flags
  const query = { ...readFilter(words), limit, ...(cursor !== undefined && { cursor }) }
  const page = await withOperator(shell, flags, (operator) => ask(operator, query))
  if (page.events.length === 0) shell.endWith(EXIT.nothing)
  if (json === true) return printJson(shell, page)
  if (page.events.length > 0) printEvents(shell, page.events)
  else shell.printError(describeNone(words, page, none))
  if (page.cursor !== undefined)
    shell.printError(
      `Looked at ${page.lookedAt} events. There may be more:\n  --cursor ${escapeText(page.cursor)}`,
    )
}

function describeNone(
  words: readonly string[],
  { lookedAt, cursor }: EventPage,
  none: string,
): string {
  if (words.length > 0)
    return cursor === undefined
      ? `No event fits. ${lookedAt} were looked at; leave a term out, or see hookonce stats.`
      : 'No event on this page fits.'
  return none
}

async function show(shell: Shell, id: string, flags: ShowFlags): Promise<void> {
  const { story, pauses } = await withOperator(shell, flags, async (operator) => ({
    story: await operator.show(id),
    pauses: flags.json === true ? [] : await operator.listPauses(),
  }))
  if (story === undefined) return missing(shell, id)
  if (flags.json === true) printJson(shell, story)
  else printStory(shell, story, { full: flags.full === true, pauses })
}

async function find(shell: Shell, idOrKey: string, flags: OperatorFlags): Promise<void> {
  const events = await withOperator(shell, flags, (operator) => operator.find(idOrKey))
  if (events.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, events)
  if (events.length > 0) return printEvents(shell, events)
  shell.printError(
    `No event has the id or the key ${escapeText(idOrKey)}. Ask the sender what it was answered; hookonce backfill takes in what never came.`,
  )
}

async function writeBody(shell: Shell, id: string, flags: BodyFlags): Promise<void> {
  const body = await withOperator(shell, flags, async (operator) =>
    flags.request === true ? await operator.findRequest(id) : (await operator.findEvent(id))?.body,
  )
  if (body === undefined) return missing(shell, id)
  if (flags.json === true) return printJson(shell, { id, body })
  // Not `isInteractive`: with `xargs` no person answers, and the output is a terminal all the same.
  if (!shell.isTerminal) return shell.write(body)
  const text = new TextDecoder().decode(body)
  shell.print(text.split('\n').map(escapeText).join('\n'))
}

async function exportFixture(shell: Shell, id: string, flags: OperatorFlags): Promise<void> {
  const { event, request } = await withOperator(shell, flags, async (operator) => ({
    event: await operator.findEvent(id),
    request: await operator.findRequest(id),
  }))
  if (event === undefined) return missing(shell, id)
  if (event.payload !== 'kept') {
    shell.printError(
      `The payload of event ${escapeText(id)} was ${event.payload}: there is nothing to export.`,
    )
    return shell.endWith(EXIT.failed)
  }
  // The part of a request is no request: the sender signs the whole one.
  const isPart = request !== undefined && !Buffer.from(request).equals(event.body)
  printJson(shell, toFixture(isPart ? { ...event, ...wholeOf(event, request) } : event))
  if (isPart)
    shell.printError(
      'Its sender puts several events into one request: this is the whole of it, and delivers all of them.',
    )
  shell.printError(
    'The body is as it came: look at what is in it before you put it into a repository.',
  )
}

/** Its key is one of several, and the headers of a part say that it is JSON, also where the request was a form. */
function wholeOf(
  { headers }: Pick<EventRecord, 'headers'>,
  request: Uint8Array,
): Pick<EventRecord, 'headers' | 'body'> & { readonly key: undefined } {
  const { 'content-type': _, ...others } = headers
  return { key: undefined, headers: others, body: request }
}

function missing(shell: Shell, id: string): void {
  shell.printError(
    `There is no event ${escapeText(id)}. hookonce events find takes the sender's key as well.`,
  )
  shell.endWith(EXIT.nothing)
}
