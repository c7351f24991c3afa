/**
 * `hookonce trigger`: sends an event as its provider would, signed, as often as asked for, and says what became of it.
 *
 *     hookonce trigger stripe invoice.paid --times 10 --parallel
 *     10 deliveries, 1 event, handler ran 1 time
 *
 * @module
 */

import type { Command } from 'commander'
import { asError, OptionInvalidError } from '../../errors.ts'
import type { RemoteOperatorOptions } from '../../gateway/admin/remote-operator.ts'
import type { LoadedConfig } from '../../gateway/config/load-config.ts'
import { readDevLayer } from '../../gateway/dev-folder.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { loadFromFlags, withReceiverFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'
import { findGateway } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { urlOf } from '../receive-url.ts'
import { collect, readCount } from '../read-flags.ts'
import { readNamedFile } from '../read-named-file.ts'
import { refuseIdleFlags } from '../refuse-idle-flags.ts'
import { draftTrigger } from '../draft-trigger.ts'
import type { TriggerTarget } from '../draft-trigger.ts'
import type { Shell } from '../shell.ts'
import { countAnswers, eventsOf, isTaken, sendDelivery } from '../send-delivery.ts'
import type { Answer } from '../send-delivery.ts'
import { readPrivateKey } from '../trigger-scheme.ts'
import { untilRanAt, untilRanIn } from '../until-ran.ts'
import type { AskedEvents, Ran } from '../until-ran.ts'

/** What commander makes of the flags. */
export interface TriggerFlags extends ConfigFlags {
  readonly times: number
  readonly parallel?: boolean
  readonly set: readonly string[]
  readonly file?: string
  readonly id?: string
  readonly to?: string
  readonly url?: string
  readonly token?: string
  readonly secret?: string
  readonly privateKey?: string
  readonly badSignature?: boolean
  readonly old?: boolean
  readonly json?: boolean
}

export function addTrigger(program: Command, shell: Shell): void {
  withReceiverFlags(program.command('trigger'))
    .description('send an event as its provider would, signed')
    .argument('<source>', 'a source of the config, or a provider with --to and a key')
    .argument('[type]', 'the type of the event')
    .option('--times <n>', 'how often', readCount, 1)
    .option('--parallel', 'all at once')
    .option('--set <path=value>', 'changes the payload: $.data.object.amount=100', collect, [])
    .option('--file <file>', 'the payload, from a file')
    .option('--id <id>', 'the id of the event')
    .option('--to <url>', 'where to send it (default: the gateway of the config)')
    .option('--url <url>', 'what became of it is asked of this gateway, by its admin listener')
    .option('--token <token>', 'for that gateway, or env:<NAME> (default: HOOKONCE_TOKEN)')
    .option('--secret <secret>', 'what to sign with (default: the first secret of the source)')
    .option(
      '--private-key <file>',
      'what to sign with for a source that has a public key or a certificate, in PEM',
    )
    .option(
      '--bad-signature',
      'sign with another secret or key, as a forger would; ends with 0 where it is refused',
    )
    .option('--old', 'signed too long ago, at least a day; ends with 0 where it is refused')
    .option('--json', 'for programs')
    .addHelpText('after', EXAMPLES)
    .action(async (source: string, type: string | undefined, flags: TriggerFlags) =>
      trigger(shell, { source, type }, flags),
    )
}

const EXAMPLES = `
Examples:
  hookonce trigger stripe invoice.paid --times 10 --parallel
  hookonce trigger github push --set '$.ref="refs/heads/main"'
  hookonce trigger stripe invoice.paid --secret env:STRIPE_WEBHOOK_SECRET --to https://example.com/webhooks
  hookonce trigger discord --private-key ./discord-test.pem
  hookonce trigger stripe invoice.paid --to http://localhost:3000/webhooks/stripe --store env:DATABASE_URL

With --to it is told how often the handler ran where --store or --url says whose events they are.`

async function trigger(
  shell: Shell,
  { source, type }: Pick<TriggerTarget, 'source' | 'type'>,
  flags: TriggerFlags,
): Promise<void> {
  const gateway = findAsked(flags)
  // Also the sources of `hookonce dev`, which are in no config.
  const loaded = await loadFromFlags(flags, { beneath: readDevLayer(process.cwd()) })
  const url = requireUrl(flags.to) ?? urlOf(loaded.config.receive, source)
  const delivery = draftTrigger(loaded.config, { source, type, url }, readPayload(flags))
  const { times, parallel } = flags
  const answers = await sendDelivery(url, delivery, { times, atOnce: parallel === true })
  const asked = { source, key: flags.id, events: eventsOf(answers) }
  const seen = answers.some(isTaken)
    ? await untilRanWhere(loaded, flags, { gateway, asked }).catch(asError)
    : undefined
  const ran = seen instanceof Error ? undefined : seen
  print(shell, answers, ran, flags)
  const { badSignature, old } = flags
  const isForged = badSignature === true || old === true
  if (!answers.every((answer) => isWanted(answer, isForged))) shell.endWith(EXIT.failed)
  if (seen instanceof Error) tellUnseen(shell, seen, flags)
}

/** The gateway that `--url` names. HOOKONCE_URL may be another one than that of the config. */
function findAsked({
  url,
  token,
  store,
  to,
  ...flags
}: TriggerFlags): RemoteOperatorOptions | undefined {
  if (to !== undefined)
    refuseIdleFlags(flags, ['host', 'port'], '--to says where it is sent. Leave one of them out')
  if (url === undefined)
    refuseIdleFlags({ token }, ['token'], 'it is for a gateway. Add --url, or leave it out')
  const here = { environment: process.env, folder: process.cwd() }
  return url === undefined ? undefined : findGateway(here, { url, token, store })
}

/** Only a store of ours can tell; which one it is of an endpoint somewhere else has to be said. */
async function untilRanWhere(
  loaded: LoadedConfig,
  { to, store }: TriggerFlags,
  {
    gateway,
    asked,
  }: { readonly gateway: RemoteOperatorOptions | undefined; readonly asked: AskedEvents },
): Promise<Ran | undefined> {
  if (gateway !== undefined) return untilRanAt(gateway, asked)
  return to === undefined || store !== undefined ? untilRanIn(loaded, asked) : undefined
}

/**
 * It has been sent, and answered, all the same. Who names a store or a gateway wants to hear of it; the store of the
 * config need not be that of the gateway that took it, such as one in a container.
 *
 * @throws Error as it was, where a store or a gateway was named
 */
function tellUnseen(shell: Shell, error: Error, { store, url }: TriggerFlags): void {
  if (store !== undefined || url !== undefined) throw error
  shell.printError(`What became of it cannot be told: ${escapeText(error.message)}`)
}

/** @throws OptionInvalidError for what no delivery can be sent to */
function requireUrl(to: string | undefined): string | undefined {
  if (to === undefined) return to
  const { protocol = '', username, password } = URL.canParse(to) ? new URL(to) : {}
  // A user name or a password cannot be sent in a URL, and would be shown where it is refused.
  if (/^https?:$/.test(protocol) && username === '' && password === '') return to
  throw new OptionInvalidError('--to', 'a URL such as https://example.com/webhooks', to)
}

/**
 * What should be refused is refused with a word about the request, and not because the receiver is in trouble. A
 * gateway of ours keeps what is too old from some senders, and does not run it.
 */
function isWanted({ status, outcome }: Answer, isForged: boolean): boolean {
  if (isForged) return (status >= 400 && status <= 499) || outcome === 'quarantined'
  return status >= 200 && status <= 299
}

function readPayload(flags: TriggerFlags): Parameters<typeof draftTrigger>[2] {
  const { set, id, secret, privateKey, file } = flags
  const folder = process.cwd()
  return {
    set,
    id,
    secret,
    privateKey:
      privateKey === undefined
        ? undefined
        : readPrivateKey(readNamedFile(folder, '--private-key', privateKey)),
    isForged: flags.badSignature === true,
    isOld: flags.old === true,
    body: file === undefined ? undefined : readNamedFile(folder, '--file', file),
  }
}

function print(
  shell: Shell,
  answers: readonly Answer[],
  ran: Ran | undefined,
  { json }: Pick<TriggerFlags, 'json'>,
): void {
  const events = eventsOf(answers)
  const runs = ran?.runs
  if (json === true) return printJson(shell, { deliveries: answers.length, events, runs, answers })
  const counts = new Map<string, number>()
  for (const { outcome } of answers) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  for (const [outcome, count] of counts) shell.print(`${count} × ${escapeText(outcome)}`)
  for (const event of events) {
    const why = ran?.notDone.get(event)
    shell.print(escapeText(`event ${event}${why === undefined ? '' : ` is ${why}`}`))
  }
  shell.print(countAnswers(answers, runs))
}
