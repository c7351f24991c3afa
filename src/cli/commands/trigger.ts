/**
 * `hookonce trigger`: sends an event as its provider would, signed, as often as asked for, and says what became of it.
 *
 *     hookonce trigger stripe invoice.paid --times 10 --parallel
 *     10 deliveries, 1 event, handler ran 1 time
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { asError, HookonceError } from '../../errors.ts'
import type { LoadedConfig } from '../../gateway/config/load-config.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { loadFromFlags, withConfigFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'
import { collect, readCount } from '../read-flags.ts'
import { untilRan } from '../until-ran.ts'
import { draftTrigger } from '../draft-trigger.ts'

/** What commander makes of the flags. */
export interface TriggerFlags extends ConfigFlags {
  readonly times: number
  readonly parallel?: boolean
  readonly set: readonly string[]
  readonly file?: string
  readonly id?: string
  readonly to?: string
  readonly secret?: string
  readonly badSignature?: boolean
  readonly old?: boolean
  readonly json?: boolean
}

export function addTrigger(program: Command): void {
  withConfigFlags(program.command('trigger'))
    .description('send an event as its provider would, signed')
    .argument('<source>', 'a source of the config, or a provider with --secret and --to')
    .argument('[type]', 'the type of the event')
    .option('--times <n>', 'how often', readCount, 1)
    .option('--parallel', 'all at once')
    .option('--set <path=value>', 'changes the payload: $.data.object.amount=100', collect, [])
    .option('--file <file>', 'the payload, from a file')
    .option('--id <id>', 'the id of the event')
    .option('--to <url>', 'where to send it (default: the gateway of the config)')
    .option('--secret <secret>', 'what to sign with (default: the first secret of the source)')
    .option('--bad-signature', 'sign with another secret, as a forger would')
    .option('--old', 'with a signature of yesterday')
    .option('--json', 'for programs')
    .addHelpText('after', EXAMPLES)
    .action(trigger)
}

const EXAMPLES = `
Examples:
  hookonce trigger stripe invoice.paid --times 10 --parallel
  hookonce trigger github push --set '$.ref="refs/heads/main"'
  hookonce trigger stripe invoice.paid --secret env:STRIPE_WEBHOOK_SECRET --to https://example.com/webhooks`

interface Answer {
  readonly status: number
  readonly outcome: string
  readonly event: string | undefined
}

async function trigger(
  source: string,
  type: string | undefined,
  flags: TriggerFlags,
): Promise<void> {
  const loaded = await loadFromFlags(flags)
  const url = flags.to ?? urlOf(loaded, source)
  const delivery = draftTrigger(loaded.config, { source, type, url }, readPayload(flags))
  const answers = await sendAll(url, delivery, flags)
  // Only a store of ours can tell, and only of events that were just sent to it.
  const runs = flags.to === undefined ? await untilRan(loaded, eventsOf(answers)) : undefined
  print(answers, runs, flags)
  if (answers.some(({ status }) => status < 200 || status > 299)) process.exitCode = EXIT.failed
}

function readPayload(flags: TriggerFlags): Parameters<typeof draftTrigger>[2] {
  const { set, id, secret, file } = flags
  return {
    set,
    id,
    secret,
    isForged: flags.badSignature === true,
    isOld: flags.old === true,
    body: file === undefined ? undefined : readFileSync(file),
  }
}

/** Where the gateway of this config listens. */
function urlOf({ config }: LoadedConfig, source: string): string {
  const { host, port } = config.receive
  const reached = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}/in/${source}`
}

async function sendAll(
  url: string,
  delivery: ReturnType<typeof draftTrigger>,
  { times, parallel }: TriggerFlags,
): Promise<readonly Answer[]> {
  const send = async (): Promise<Answer> => sendOne(url, delivery)
  if (parallel === true) return Promise.all(Array.from({ length: times }, send))
  const answers: Answer[] = []
  for (let sent = 0; sent < times; sent += 1) answers.push(await send())
  return answers
}

async function sendOne(
  url: string,
  { headers, body, method }: ReturnType<typeof draftTrigger>,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: headers as Record<string, string>,
      body: new Uint8Array(body),
      redirect: 'manual',
    })
    const text = await response.text()
    const { status, event } = readAnswer(text)
    return { status: response.status, outcome: status ?? `answered ${response.status}`, event }
  } catch (error) {
    const { message, cause } = asError(error)
    const why = cause instanceof Error ? cause.message : message
    throw new HookonceError('STORE_UNAVAILABLE', `${url} cannot be reached: ${why}`, {
      cause: error,
      retryable: true,
    })
  }
}

/** What our own gateways answer; others answer anything. */
function readAnswer(text: string): { readonly status?: string; readonly event?: string } {
  try {
    const answer = JSON.parse(text) as Record<string, unknown> | null
    const { status, event, error } = answer ?? {}
    return {
      ...(typeof status === 'string' ? { status } : typeof error === 'string' && { status: error }),
      ...(typeof event === 'string' && { event }),
    }
  } catch {
    return {}
  }
}

function eventsOf(answers: readonly Answer[]): readonly string[] {
  return [...new Set(answers.flatMap(({ event }) => event ?? []))]
}

function print(
  answers: readonly Answer[],
  runs: number | undefined,
  { json }: Pick<TriggerFlags, 'json'>,
): void {
  const events = eventsOf(answers)
  if (json === true) {
    console.log(JSON.stringify({ deliveries: answers.length, events, runs, answers }, undefined, 2))
    return
  }
  const counts = new Map<string, number>()
  for (const { outcome } of answers) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  for (const [outcome, count] of counts) console.log(`${count} × ${escapeText(outcome)}`)
  for (const event of events) console.log(`event ${escapeText(event)}`)
  const parts = [
    counted(answers.length, 'delivery', 'deliveries'),
    ...(events.length > 0 ? [counted(events.length, 'event', 'events')] : []),
    ...(runs === undefined ? [] : [`handler ran ${counted(runs, 'time', 'times')}`]),
  ]
  console.log(parts.join(', '))
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
