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
import { readDevLayer } from '../../gateway/dev-folder.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { loadFromFlags, withConfigFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'
import { urlOf } from '../receive-url.ts'
import { collect, readCount } from '../read-flags.ts'
import { draftTrigger } from '../draft-trigger.ts'
import { countAnswers, eventsOf, sendDelivery } from '../send-delivery.ts'
import type { Answer } from '../send-delivery.ts'
import { untilRanIn } from '../until-ran.ts'

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

async function trigger(
  source: string,
  type: string | undefined,
  flags: TriggerFlags,
): Promise<void> {
  // Also the sources of `hookonce dev`, which are in no config.
  const loaded = await loadFromFlags(flags, { beneath: readDevLayer(process.cwd()) })
  const url = flags.to ?? urlOf(loaded.config.receive, source)
  const delivery = draftTrigger(loaded.config, { source, type, url }, readPayload(flags))
  const { times, parallel } = flags
  const answers = await sendDelivery(url, delivery, { times, atOnce: parallel === true })
  // Only a store of ours can tell, and only of events that were just sent to it.
  const runs = flags.to === undefined ? await untilRanIn(loaded, eventsOf(answers)) : undefined
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
  console.log(countAnswers(answers, runs))
}
