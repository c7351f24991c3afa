/**
 * The flags that say whose signature is meant: a source of the config, also with another secret than it has there, or a
 * provider with its secret.
 *
 * @module
 */

import type { Command } from 'commander'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import { loadConfig } from '../gateway/config/load-config.ts'
import { buildSources, findSourceProblems } from '../gateway/build-sources.ts'
import { resolveReferences } from '../gateway/config/references.ts'
import type { ResolvedConfig, ResolvedSourceConfig } from '../gateway/config/schema.ts'
import type { Source } from '../index.ts'
import { didYouMean } from '../options/did-you-mean.ts'
import { collect } from './read-flags.ts'
import { refuseIdleFlags } from './refuse-idle-flags.ts'
import type { Shell } from './shell.ts'

/** What commander makes of the flags. */
export interface SourceFlags {
  readonly config?: string
  readonly source?: string
  readonly provider?: string
  readonly secret: readonly string[]
  readonly option: readonly string[]
}

/** What is said of a source, and the config that it is in, where it is in one. */
export interface NamedSource {
  readonly given: ResolvedSourceConfig
  readonly config?: ResolvedConfig
}

/** Adds the flags. */
export function withSourceFlags(command: Command): Command {
  return command
    .option('--source <name>', 'a source of the config')
    .option('--provider <name>', 'a provider, instead of a source')
    .option(
      '--secret <secret>',
      'such as env:STRIPE_WEBHOOK_SECRET; with --source in place of those of the config',
      collect,
      [],
    )
    .option('--option <name=value>', 'another option of the provider', collect, [])
}

/** @throws OptionInvalidError where neither or both are said; HookonceError CONFIG_INVALID */
export async function findNamedSource(
  shell: Shell,
  command: string,
  flags: SourceFlags,
): Promise<NamedSource> {
  const { source, provider } = flags
  if (provider !== undefined && source === undefined) {
    refuseIdleFlags(
      flags,
      ['config'],
      'with --provider no config is read. Say --source, or leave it out',
    )
    return { given: { ...readOptions(shell, flags), provider } }
  }
  if (source === undefined || provider !== undefined)
    throw new OptionInvalidError(command, {
      message:
        'Say whose signature it is: --source <name> of the config, or --provider <name> with --secret.',
    })
  const { folder, environment } = shell
  const { config } = await loadConfig({ folder, environment, file: flags.config })
  const given = config.sources[source]
  // Said here it counts more: this is how the secret of a rotation is tried before it is in the config.
  if (given !== undefined) {
    const { provider: own } = given
    return { given: { ...given, ...readOptions(shell, flags), provider: own }, config }
  }
  throw new HookonceError(
    'CONFIG_INVALID',
    `There is no source "${source}"${didYouMean(source, Object.keys(config.sources))}`,
  )
}

function readOptions(
  { folder, environment }: Shell,
  { secret, option }: SourceFlags,
): Record<string, unknown> {
  const options = option.map((pair): [string, unknown] => {
    const equals = pair.indexOf('=')
    if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)]
    throw new OptionInvalidError('--option', 'a name and a value: publicUrl=https://…', pair)
  })
  const { value, problems } = resolveReferences(
    Object.fromEntries([...options, ...(secret.length > 0 ? [['secrets', secret] as const] : [])]),
    { environment, folder },
  )
  if (problems.length > 0) throw new HookonceError('CONFIG_INVALID', problems.join('\n'))
  return value
}

/**
 * What `buildSources` makes of it. What is wrong is told by the flag: a part of it may be in no config.
 *
 * @throws HookonceError CONFIG_INVALID
 */
export function buildNamedSource(given: ResolvedSourceConfig, config?: ResolvedConfig): Source {
  const sources = { source: given }
  const problems = findSourceProblems({ sources })
  if (problems.length === 0) return buildSources({ sources })['source'] as Source
  const said = problems.map((problem) => problem.replace(/^sources\.source: /, ''))
  const flag = config === undefined ? '--provider' : '--source'
  throw new HookonceError('CONFIG_INVALID', `${flag}: ${said.join('\n')}`)
}
