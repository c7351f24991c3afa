/**
 * `hookonce sources` and `hookonce secrets`: the senders of a config, and how much their secrets are used.
 *
 * @module
 */

import type { Command } from 'commander'
import { loadConfig } from '../../gateway/config/load-config.ts'
import { buildSources, listProviders } from '../../gateway/build-sources.ts'
import type { SecretUse } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge, formatMoment } from '../output/times.ts'
import type { Shell } from '../shell.ts'

interface ListedSource {
  readonly name: string
  readonly provider: string
  readonly path: string
  readonly forward: readonly string[]
  /** What its secrets are called. */
  readonly secrets: readonly string[]
  readonly warnings: readonly string[]
}

type SourcesFlags = Pick<OperatorFlags, 'config' | 'json'>

export function addSources(program: Command, shell: Shell): void {
  const sources = program.command('sources').description('the senders, and the providers there are')
  sources
    .command('list', { isDefault: true })
    .description('the sources of the config, with where each is delivered to')
    .option(
      '-c, --config <file>',
      'the config file (default: hookonce.config.ts, .js or .json here)',
    )
    .option('--json', 'for programs')
    .addHelpText('after', '\nExamples:\n  hookonce sources')
    .action(async (flags: SourcesFlags) => list(shell, flags))
  sources
    .command('providers')
    .description('the names that a source may have as its provider')
    .option('--json', 'for programs')
    .addHelpText('after', '\nExamples:\n  hookonce sources providers')
    .action((flags: SourcesFlags) => {
      const names = [...listProviders().keys()]
      if (flags.json === true) printJson(shell, names)
      else for (const name of names) shell.print(name)
    })
}

/** `hookonce secrets`. */
export function addSecrets(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('secrets'))
    .description(
      'how much each secret is used, before an old one is removed; secrets are never shown',
    )
    .option('--source <name>', 'of this source')
    .addHelpText('after', '\nExamples:\n  hookonce secrets --source stripe')
    .action(async (flags: OperatorFlags & { readonly source?: string }) => {
      const { source } = flags
      const uses = await withOperator(shell, flags, (operator) =>
        operator.listSecrets(source === undefined ? {} : { source }),
      )
      if (uses.length === 0) shell.endWith(EXIT.nothing)
      if (flags.json === true) return printJson(shell, uses)
      if (uses.length === 0) return shell.printError('No delivery was verified by a secret yet.')
      printTable<SecretUse>(
        shell,
        [
          { head: 'source', cell: (use) => use.source },
          { head: 'secret', cell: ({ label }) => label },
          { head: 'deliveries', cell: ({ deliveries }) => String(deliveries), isWhole: true },
          { head: 'last used', cell: (use) => lastUse(use), isWhole: true },
          {
            head: 'ends',
            cell: ({ until }) => (until === undefined ? 'never' : formatMoment(until)),
            isWhole: true,
            dispensable: 1,
          },
        ],
        uses,
      )
    })
}

function lastUse({ lastUsedAt }: SecretUse): string {
  return lastUsedAt === undefined ? 'never' : `${formatAge(lastUsedAt)} ago`
}

async function list(shell: Shell, flags: SourcesFlags): Promise<void> {
  const { folder, environment } = shell
  const { config } = await loadConfig({ folder, environment, file: flags.config })
  const built = buildSources(config)
  const listed = Object.entries(built).map(([name, source]): ListedSource => ({
    name,
    provider: source.provider,
    path: `/in/${name}`,
    forward: (config.sources[name]?.forward ?? []).map((to) =>
      typeof to === 'string' ? to : to.to,
    ),
    secrets: (source.secretLabels ?? []).map(({ label }) => label),
    warnings: source.warnings,
  }))
  if (listed.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, listed)
  if (listed.length === 0)
    return shell.printError(
      'The config has no sources. hookonce init writes one; docs/gateway.md shows how.',
    )
  printTable<ListedSource>(
    shell,
    [
      { head: 'source', cell: ({ name }) => name },
      { head: 'provider', cell: ({ provider }) => provider },
      { head: 'path', cell: ({ path }) => path },
      {
        head: 'forwards to',
        cell: ({ forward }) => forward.join(', ') || 'nothing',
        dispensable: 2,
      },
      { head: 'secrets', cell: ({ secrets }) => secrets.join(', '), dispensable: 1 },
    ],
    listed,
  )
  for (const { name, warnings } of listed)
    for (const warning of warnings) shell.printError(`${name}: ${escapeText(warning)}`)
}
