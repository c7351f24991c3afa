/**
 * `hookonce backfill`: asks a sender what it has sent, and takes in what the inbox lacks.
 *
 * @module
 */

import type { Command } from 'commander'
import { githubDeliveries, shopifyResources, stripeEvents } from '../../backfill/index.ts'
import { HookonceError, OptionInvalidError } from '../../errors.ts'
import { loadConfig } from '../../gateway/config/load-config.ts'
import { buildSources } from '../../gateway/build-sources.ts'
import { openStore } from '../../gateway/open-store.ts'
import { createInbox } from '../../index.ts'
import type { BackfillClient, BackfillOptions, BackfillReport } from '../../index.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import { findActor, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printItem } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { collect, readTime } from '../read-flags.ts'
import { readReference } from '../read-reference.ts'
import { refuseIdleFlags } from '../refuse-idle-flags.ts'
import type { Shell } from '../shell.ts'
import { whileWorking } from '../while-working.ts'

interface BackfillFlags extends OperatorFlags {
  readonly since: Date
  readonly until?: Date
  readonly type: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly reason?: string
  readonly actor?: string
  readonly cursor?: string
  readonly key: string
  readonly account?: string
  readonly of?: string
  readonly hookId?: string
  readonly shop?: string
  readonly apiVersion?: string
  readonly resource: readonly string[]
  readonly apiUrl?: string
}

export function addBackfill(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('backfill'), { reaches: 'store' })
    .description('ask Stripe, GitHub or Shopify what they have sent, and take in what is missing')
    .argument('<source>', 'a source of the config')
    .requiredOption(
      '--since <time>',
      'what happened before is left alone: 2d, 2026-11-16T03:00Z',
      readTime,
    )
    .option('--until <time>', 'what happened later is left alone (default: a minute ago)', readTime)
    .requiredOption('--key <key>', 'of the API, such as env:STRIPE_API_KEY')
    .option('--type <type>', 'only these types or patterns, such as invoice.*', collect, [])
    .option('--dry-run', 'say what is missing, and take nothing in')
    .option('--yes', 'take it in without asking')
    .option('--reason <text>', 'why; the audit keeps it')
    .option('--actor <who>', 'who (default: HOOKONCE_ACTOR, or your name on this machine)')
    .option('--cursor <cursor>', 'go on where an earlier one stopped')
    .option('--account <account>', 'Stripe: the connected account')
    .option('--of <name>', 'GitHub: owner/repository, or an organisation')
    .option('--hook-id <id>', 'GitHub: which of its webhooks')
    .option('--shop <host>', 'Shopify: such as example.myshopify.com')
    .option('--api-version <version>', 'Shopify: such as 2026-07')
    .option('--resource <resource=topic>', 'Shopify: such as orders=orders/updated', collect, [])
    .option('--api-url <url>', 'for a proxy')
    .addHelpText(
      'after',
      '\nIt needs the database itself, and not a gateway: this process takes the events in, as an inbox of this config.\n\nExamples:\n  hookonce backfill stripe --since 2d --key env:STRIPE_API_KEY --dry-run\n  hookonce backfill github --since 6h --key env:GITHUB_TOKEN --of acme/shop',
    )
    .action(async (source: string, flags: BackfillFlags) => backfill(shell, source, flags))
}

async function backfill(shell: Shell, name: string, flags: BackfillFlags): Promise<void> {
  const { folder, environment, interrupted } = shell
  const { config } = await loadConfig({ folder, environment, file: flags.config })
  const sources = buildSources(config)
  const source = sources[name]
  if (source === undefined)
    throw new HookonceError(
      'CONFIG_INVALID',
      `There is no source "${name}"${didYouMean(name, Object.keys(sources))}`,
    )
  const { provider } = source
  refuseIdleFlags(flags, listIdle(provider), `it is not for the API of ${provider}. Leave it out`)
  const from = chooseClient(provider, readReference(shell, '--key', flags.key), flags)
  // The events that are taken in are encrypted with the keys of the config, also in another store.
  const url =
    flags.store === undefined ? config.store : readReference(shell, '--store', flags.store)
  const question = `Take in what is missing of ${escapeText(name)} since ${flags.since.toISOString()}? Its handlers run.`
  if (flags.dryRun !== true && !(await confirm(shell, question, flags)))
    return shell.endWith(EXIT.failed)
  const { store, close } = openStore(url, folder, {
    migrate: 'check',
    encryption: config.encryption,
  })
  const inbox = createInbox({
    store,
    sources,
    worker: false,
    relay: false,
    retention: config.retention,
  })
  try {
    const { since, until, type, dryRun, cursor } = flags
    let listed = 0
    const options: BackfillOptions = {
      from: {
        ...from,
        list: async (request) => {
          const page = await from.list(request)
          listed += page.events.length
          return page
        },
      },
      since,
      signal: interrupted,
      actor: flags.actor ?? findActor(shell),
      ...(flags.reason !== undefined && { reason: flags.reason }),
      ...(until !== undefined && { until }),
      ...(type.length > 0 && { types: type }),
      ...(dryRun !== undefined && { dryRun }),
      ...(cursor !== undefined && { cursor }),
    }
    const report = await whileWorking(
      shell,
      () => `${listed} listed by the sender`,
      () => inbox.backfill(name, options),
    )
    print(shell, report, flags)
  } finally {
    await inbox.stop()
    await close()
  }
}

const OF_PROVIDER: Readonly<Record<string, readonly (keyof BackfillFlags)[]>> = {
  stripe: ['account'],
  github: ['of', 'hookId'],
  shopify: ['shop', 'apiVersion', 'resource'],
}

/** The flags of the other APIs. Of a provider without a client there is more to say. */
function listIdle(provider: string): readonly (keyof BackfillFlags)[] {
  if (!Object.hasOwn(OF_PROVIDER, provider)) return []
  return Object.entries(OF_PROVIDER).flatMap(([name, flags]) => (name === provider ? [] : flags))
}

function chooseClient(provider: string, key: string, flags: BackfillFlags): BackfillClient {
  const { account, of = '', hookId, shop = '', apiVersion = '', apiUrl } = flags
  const proxy = apiUrl === undefined ? {} : { baseUrl: apiUrl }
  switch (provider) {
    case 'stripe':
      return stripeEvents({ apiKey: key, ...proxy, ...(account !== undefined && { account }) })
    case 'github':
      return githubDeliveries({
        token: key,
        of,
        ...proxy,
        ...(hookId !== undefined && { hookId: Number(hookId) }),
      })
    case 'shopify':
      return shopifyResources({
        shop,
        accessToken: key,
        apiVersion,
        resources: Object.fromEntries(flags.resource.map((pair) => pair.split('=', 2))) as Record<
          string,
          string
        >,
        ...proxy,
      })
    default:
      throw new OptionInvalidError('backfill', {
        message: `There is no client for the API of ${provider}. Write one in code: inbox.backfill(source, { from }).`,
      })
  }
}

function print(shell: Shell, report: BackfillReport, { json, dryRun }: BackfillFlags): void {
  if (!report.isComplete || report.failed > 0) shell.endWith(EXIT.failed)
  if (json === true) return printJson(shell, report)
  const { listed, known, missing, failed, missingEvents, failedEvents } = report
  const { stoppedBy, cursor, keptSince, isInOrder } = report
  for (const { type, key } of missingEvents) printItem(shell, `${type}  ${key}`)
  for (const { key, reason } of failedEvents) printItem(shell, `${key}: ${reason}`, 'red')
  shell.print(
    `${listed} sent, ${known} were here, ${missing} ${dryRun === true ? 'are missing' : 'taken in'}, ${failed} failed.`,
  )
  if (keptSince !== undefined)
    shell.printError(
      `The sender lists nothing from before ${keptSince.toISOString()}: what it sent before could not be looked at.`,
    )
  if (!isInOrder && missing > 0)
    shell.printError(
      'They come part by part, each oldest first and older than the one before: a fifo lane may be run out of order.',
    )
  if (stoppedBy === undefined) return
  shell.printError(`It stopped: ${escapeText(stoppedBy)}`)
  if (cursor !== undefined) shell.printError(`Go on with --cursor ${escapeText(cursor)}`)
}
