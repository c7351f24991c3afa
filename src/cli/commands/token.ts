/**
 * `hookonce token`: who may use the admin API of a gateway.
 *
 * @module
 */

import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { HookonceError } from '../../errors.ts'
import { createToken } from '../../gateway/admin/tokens.ts'
import type { TokenRecord } from '../../gateway/admin/tokens.ts'
import { ROLES } from '../../gateway/admin/roles.ts'
import type { Role } from '../../gateway/admin/roles.ts'
import { openStore, WITHOUT_KEYS } from '../../gateway/open-store.ts'
import type { OpenedStore } from '../../gateway/open-store.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { findActor, findPlace, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags, Place } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatMoment } from '../output/times.ts'
import type { Shell } from '../shell.ts'

export function addToken(program: Command, shell: Shell): void {
  const token = program.command('token').description('who may use the admin API of a gateway')
  withOperatorFlags(token.command('create'), { reaches: 'store' })
    .description('make a token; it is shown once')
    .requiredOption('--name <name>', 'what the audit calls its user')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--expires <time>', 'how long it counts, such as 12h or 30d', readLifetime)
    .option('--actor <who>', ACTOR)
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce token create --name ci --role viewer --expires 30d',
    )
    .action(async (flags: CreateFlags) => create(shell, flags))
  withOperatorFlags(token.command('list'), { reaches: 'store' })
    .description('the tokens there are, without what they say')
    .addHelpText('after', '\nExamples:\n  hookonce token list')
    .action(async (flags: OperatorFlags) => list(shell, flags))
  withOperatorFlags(token.command('revoke'), { reaches: 'store' })
    .description('take a token back, at once and in every process')
    .argument('<name>', 'what it is called')
    .option('--actor <who>', ACTOR)
    .addHelpText('after', '\nExamples:\n  hookonce token revoke ci')
    .action(async (name: string, flags: ActorFlags) => revoke(shell, name, flags))
}

const ACTOR = 'who (default: HOOKONCE_ACTOR, or your name on this machine)'

interface ActorFlags extends OperatorFlags {
  readonly actor?: string
}

interface CreateFlags extends ActorFlags {
  readonly name: string
  readonly role: Role
  readonly expires?: number
}

async function create(shell: Shell, { name, role, expires, ...flags }: CreateFlags): Promise<void> {
  const place = await findPlace(shell, flags)
  // The first token comes before the first start, and makes the store where the config lets a start do so.
  const created = await withTokens(shell, place, (tokens) =>
    createToken(
      tokens,
      { name, role, ...(expires !== undefined && { lifetimeMs: expires }) },
      flags.actor ?? findActor(shell),
    ),
  )
  if (created.status === 'name-taken')
    throw new HookonceError(
      'OPTION_INVALID',
      `There is a token "${name}". Choose another name, or revoke it: hookonce token revoke ${name}`,
    )
  if (flags.json === true) printJson(shell, { name, role, token: created.token })
  else shell.print(created.token)
  shell.printError('It is shown once. Keep it where secrets are kept.')
}

async function list(shell: Shell, flags: OperatorFlags): Promise<void> {
  const { url } = await findPlace(shell, flags)
  const tokens = await withTokens(shell, { url, migrate: 'check' }, (store) => store.list())
  if (tokens.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, tokens)
  if (tokens.length === 0)
    return shell.printError('There is no token. `hookonce token create` makes one.')
  printTable<TokenRecord>(
    shell,
    [
      { head: 'name', cell: ({ name }) => name },
      { head: 'role', cell: ({ role }) => role, isWhole: true },
      { head: 'made', cell: ({ createdAt }) => `${formatAge(createdAt)} ago`, dispensable: 1 },
      { head: 'expires', cell: ({ expiresAt }) => (expiresAt ? formatMoment(expiresAt) : 'never') },
    ],
    tokens,
  )
}

async function revoke(shell: Shell, name: string, flags: ActorFlags): Promise<void> {
  const actor = flags.actor ?? findActor(shell)
  const { url } = await findPlace(shell, flags)
  const isRevoked = await withTokens(shell, { url, migrate: 'check' }, (tokens) =>
    tokens.revoke(name, actor),
  )
  if (flags.json === true) printJson(shell, { name, isRevoked })
  else if (isRevoked) shell.print(`${escapeText(name)} is revoked.`)
  if (isRevoked) return
  shell.printError('There is no token of that name. `hookonce token list` shows them.')
  shell.endWith(EXIT.nothing)
}

type Tokens = OpenedStore['store']['tokens']

/** On the store itself: a gateway would have to be told a token first. */
async function withTokens<Result>(
  shell: Shell,
  { url, migrate }: Pick<Place, 'url' | 'migrate'>,
  use: (tokens: Tokens) => Promise<Result>,
): Promise<Result> {
  const { store, close } = openStore(url, shell.folder, { migrate, encryption: WITHOUT_KEYS })
  try {
    await store.open()
    return await use(store.tokens)
  } finally {
    await store.close()
    await close()
  }
}

const MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function readLifetime(text: string): number {
  const read = /^([1-9]\d{0,4})([mhd])$/.exec(text)
  if (read !== null) return Number(read[1]) * (MS[read[2] as string] as number)
  throw new InvalidArgumentError('It must be a time such as 90m, 12h or 30d.')
}
