/**
 * The flags of every command that looks after events, and the operator that they name.
 *
 * @module
 */

import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { parseFilter } from '../admin/filter-text.ts'
import { parseMessageFilter } from '../admin/message-filter-text.ts'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import { loadConfig } from '../gateway/config/load-config.ts'
import { createRemoteOperator, resolveGateway } from '../gateway/admin/remote-operator.ts'
import type { RemoteOperatorOptions } from '../gateway/admin/remote-operator.ts'
import { openStore, WITHOUT_KEYS } from '../gateway/open-store.ts'
import type { OpenTerms } from '../gateway/open-store.ts'
import { createOperator } from '../index.ts'
import type { ActionOptions, EventFilter, MessageFilter, StandaloneOperator } from '../index.ts'
import { readReference } from './read-reference.ts'
import type { Shell } from './shell.ts'

/** What commander makes of the flags. */
export interface OperatorFlags {
  readonly config?: string
  readonly store?: string
  readonly url?: string
  readonly token?: string
  readonly json?: boolean
}

/** Adds the flags that say where the events are: in a store, or behind a gateway unless only the store will do. */
export function withOperatorFlags(
  command: Command,
  { reaches = 'gateway' }: { readonly reaches?: 'gateway' | 'store' } = {},
): Command {
  if (reaches === 'gateway') withPlaceFlags(command)
  else withStoreFlags(command)
  return command.option('--json', 'for programs')
}

/** Adds those that name a store or a gateway. */
export function withPlaceFlags(command: Command): Command {
  return withStoreFlags(command)
    .option('--url <url>', 'a running gateway, by its admin listener (default: HOOKONCE_URL)')
    .option('--token <token>', 'for that gateway, or env:<NAME> (default: HOOKONCE_TOKEN)')
}

/** Adds those that name a store, and nothing else. */
function withStoreFlags(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      'the config file (default: hookonce.config.ts, .js or .json here)',
    )
    .option('--store <url>', 'sqlite:<file>, postgres://… or env:<NAME>, instead of a config')
}

/**
 * The operator that the flags name: one that speaks to a running gateway, or one on the store itself, where nothing is
 * made or migrated.
 *
 * @throws HookonceError CONFIG_INVALID; StoreUnavailableError
 */
export async function openOperator(
  shell: Shell,
  flags: OperatorFlags,
): Promise<StandaloneOperator> {
  const gateway = findGateway(shell, flags)
  if (gateway !== undefined) return createRemoteOperator(gateway)
  const { url, encryption } = await findPlace(shell, flags)
  const { store, close } = openStore(url, shell.folder, { migrate: 'check', encryption })
  const operator = createOperator({ store })
  const closeAll = async (): Promise<void> => {
    await operator.close()
    await close()
  }
  return { ...operator, close: closeAll, [Symbol.asyncDispose]: closeAll }
}

/** What was said on the command line counts before the environment, and one of both is meant. */
export function findGateway(
  { environment, folder }: Pick<Shell, 'environment' | 'folder'>,
  {
    url,
    token,
    store,
    config,
  }: { readonly [Flag in keyof OperatorFlags]: OperatorFlags[Flag] | undefined },
): RemoteOperatorOptions | undefined {
  const isStore = store !== undefined || config !== undefined
  if (url !== undefined && isStore)
    throw new HookonceError('CONFIG_INVALID', '--url and --store or --config are not said together')
  const place = url ?? (isStore ? undefined : environment['HOOKONCE_URL'])
  if (place === undefined || place === '') {
    if (token === undefined) return undefined
    throw new OptionInvalidError('--token', {
      message: '--token is for a running gateway, and none is named: add --url, or leave it out',
    })
  }
  const said = token ?? environment['HOOKONCE_TOKEN'] ?? ''
  const own = readReference({ environment, folder }, '--token', said)
  const gateway = { url: place, ...(said !== '' && { token: own }) }
  resolveGateway(gateway, {
    url: url === undefined ? 'HOOKONCE_URL' : '--url',
    token: token === undefined ? 'HOOKONCE_TOKEN' : '--token',
  })
  return gateway
}

/** Does something with the operator, and closes it. */
export async function withOperator<Result>(
  shell: Shell,
  flags: OperatorFlags,
  work: (operator: StandaloneOperator) => Promise<Result>,
): Promise<Result> {
  await using operator = await openOperator(shell, flags)
  return await work(operator)
}

/**
 * Where the events are. With `--store` alone no config is read: the person on call may have none of the secrets that
 * it refers to.
 *
 * @throws HookonceError CONFIG_INVALID
 */
export async function findStore(shell: Shell, flags: OperatorFlags): Promise<string> {
  return (await findPlace(shell, flags)).url
}

/** Where events are, and what the config says of it. */
export interface Place {
  readonly url: string
  /** Without a config what is encrypted says so, and the rest can be seen. */
  readonly encryption: OpenTerms['encryption']
  /** What the config lets a start do. */
  readonly migrate: 'auto' | 'check'
}

/** The same with what the config says. One that is named counts also beside `--store`, which takes the place of its store. */
export async function findPlace(
  { folder, environment }: Shell,
  { store, config: file }: OperatorFlags,
): Promise<Place> {
  const own =
    store === undefined ? undefined : readReference({ folder, environment }, '--store', store)
  if (own !== undefined && file === undefined)
    return { url: own, encryption: WITHOUT_KEYS, migrate: 'auto' }
  const { config } = await loadConfig({ folder, environment, file })
  return { url: own ?? config.store, encryption: config.encryption, migrate: config.migrate }
}

/** What commander makes of the flags of an action. */
export interface ActionFlags extends OperatorFlags {
  readonly reason?: string
  readonly actor?: string
  readonly requestToken?: string
  readonly yes?: boolean
}

/** Adds who asks for a change, and why. */
export function withActionFlags(
  command: Command,
  { needsReason = false }: { readonly needsReason?: boolean } = {},
): Command {
  const why = 'why; the audit keeps it'
  withOperatorFlags(command)
  if (needsReason) command.requiredOption('--reason <text>', why)
  else command.option('--reason <text>', why)
  return command
    .option('--actor <who>', 'who (default: HOOKONCE_ACTOR, or your name on this machine)')
    .option('--request-token <token>', 'stands for this one action: said again, it changes nothing')
}

export function readAction(
  shell: Shell,
  { reason, actor, requestToken }: ActionFlags,
): ActionOptions {
  return {
    actor: actor ?? findActor(shell),
    ...(reason !== undefined && { reason }),
    ...(requestToken !== undefined && { token: requestToken }),
  }
}

/** Who asks, where no flag says it. */
export function findActor({ environment }: Shell): string {
  return environment['HOOKONCE_ACTOR'] ?? userInfo().username
}

/** A token stands for one action, so that each of several subjects has one of its own. */
export function withOwnToken(
  options: ActionOptions,
  id: string,
  ids: readonly string[],
): ActionOptions {
  const { token } = options
  return token === undefined || ids.length === 1 ? options : { ...options, token: `${token} ${id}` }
}

/**
 * Which events are meant. A shell has taken the quotes away of `text:"card declined"`, so that what cannot be read is
 * read with them.
 *
 * @throws OptionInvalidError
 */
export function readFilter(words: readonly string[]): EventFilter {
  return readWords(words, parseFilter)
}

/** The same for messages. */
export function readMessageFilter(words: readonly string[]): MessageFilter {
  return readWords(words, parseMessageFilter)
}

function readWords<Filter>(words: readonly string[], parse: (text: string) => Filter): Filter {
  return parse(words.map((word) => quoteValue(word, parse)).join(' '))
}

function quoteValue(word: string, parse: (text: string) => unknown): string {
  const parts = /^(?<name>[^\s:="]+[:=])(?<value>.*\s.*)$/s.exec(word)?.groups
  if (parts === undefined || canParse(word, parse)) return word
  return `${parts['name']}"${(parts['value'] as string).replace(/["\\]/g, '\\$&')}"`
}

function canParse(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}
