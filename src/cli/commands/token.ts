/**
 * `hookonce token`: who may use the admin API of a gateway.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { HookonceError } from '../../errors.ts'
import { createToken } from '../../gateway/admin/tokens.ts'
import type { Role } from '../../gateway/admin/roles.ts'
import { openStore } from '../../gateway/open-store.ts'
import type { OpenedStore } from '../../gateway/open-store.ts'
import { loadFromFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { EXIT } from '../exit-codes.ts'
import { printTable } from '../print-table.ts'

type Flags = Pick<ConfigFlags, 'config' | 'store'>

export function addToken(program: Command): void {
  const token = program.command('token').description('who may use the admin API of a gateway')
  withStore(token.command('create'))
    .description('make a token; it is shown once')
    .requiredOption('--name <name>', 'what the audit calls those who use it')
    .requiredOption('--role <role>', 'viewer, operator or admin')
    .option('--expires <time>', 'how long it counts, such as 12h or 30d', readLifetime)
    .action(create)
  withStore(token.command('list'))
    .description('the tokens there are, without what they say')
    .option('--json', 'for programs')
    .action(list)
  withStore(token.command('revoke'))
    .description('take a token back, at once and in every process')
    .argument('<name>')
    .action(revoke)
}

function withStore(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the config file of the gateway')
    .option('--store <url>', 'sqlite:<file> or postgres://…')
}

interface CreateFlags extends Flags {
  readonly name: string
  readonly role: Role
  readonly expires?: number
}

async function create({ name, role, expires, ...flags }: CreateFlags): Promise<void> {
  const created = await withTokens(flags, (tokens) =>
    createToken(tokens, { name, role, ...(expires !== undefined && { lifetimeMs: expires }) }),
  )
  if (created.status === 'name-taken')
    throw new HookonceError(
      'OPTION_INVALID',
      `There is a token "${name}". Choose another name, or revoke it: hookonce token revoke ${name}`,
    )
  console.log(created.token)
  console.error('It is shown once. Keep it where secrets are kept.')
}

async function list({
  json = false,
  ...flags
}: Flags & { readonly json?: boolean }): Promise<void> {
  const tokens = await withTokens(flags, (store) => store.list())
  if (json) {
    console.log(JSON.stringify(tokens, undefined, 2))
    return
  }
  printTable(
    ['name', 'role', 'made', 'expires'],
    tokens.map(({ name, role, createdAt, expiresAt }) => [
      name,
      role,
      createdAt.toISOString(),
      expiresAt?.toISOString() ?? 'never',
    ]),
  )
}

async function revoke(name: string, flags: Flags): Promise<void> {
  const isRevoked = await withTokens(flags, (tokens) => tokens.revoke(name, undefined))
  if (isRevoked) return
  console.error('hookonce: there is no token of that name. `hookonce token list` shows them.')
  process.exitCode = EXIT.nothing
}

type Tokens = OpenedStore['store']['tokens']

async function withTokens<Result>(
  flags: Flags,
  use: (tokens: Tokens) => Promise<Result>,
): Promise<Result> {
  const { config } = await loadFromFlags(flags)
  const { store, close } = openStore(config.store, process.cwd())
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
