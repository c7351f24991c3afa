/**
 * `hookonce verify`: whether a signature holds, and why not.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { parseFilter } from '../../admin/filter-text.ts'
import { HookonceError, OptionInvalidError } from '../../errors.ts'
import { buildSources } from '../../gateway/build-sources.ts'
import { loadConfig } from '../../gateway/config/load-config.ts'
import { resolveReferences } from '../../gateway/config/references.ts'
import type { ResolvedSourceConfig } from '../../gateway/config/schema.ts'
import type { Source } from '../../index.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { paint } from '../output/paint.ts'
import { printJson } from '../output/print-json.ts'
import { collect } from '../read-flags.ts'
import type { Shell } from '../shell.ts'
import { explainSignature } from '../verify/explain-signature.ts'
import type { Suspect } from '../verify/explain-signature.ts'
import { readRequest } from '../verify/read-request.ts'
import type { RequestFiles } from '../verify/read-request.ts'

interface VerifyFlags extends RequestFiles {
  readonly config?: string
  readonly source?: string
  readonly provider?: string
  readonly secret: readonly string[]
  readonly option: readonly string[]
  readonly at?: Date
  readonly json?: boolean
}

export function addVerify(program: Command, shell: Shell): void {
  program
    .command('verify')
    .description('whether the signature of a request holds, and why not')
    .option(
      '-c, --config <file>',
      'the config file (default: hookonce.config.ts, .js or .json here)',
    )
    .option('--source <name>', 'a source of the config')
    .option('--provider <name>', 'a provider, instead of a source')
    .option(
      '--secret <secret>',
      'with --provider: the secret, such as env:STRIPE_WEBHOOK_SECRET',
      collect,
      [],
    )
    .option('--option <name=value>', 'with --provider: another option of it', collect, [])
    .option(
      '--request <file>',
      'the whole request: its first line, headers, an empty line, the body',
    )
    .option('--headers <file>', 'its headers, a line each')
    .option('--body <file>', 'its body, byte for byte')
    .option('--at <time>', 'when it came: 2h ago, or 2026-11-16T03:00Z (default: now)', readMoment)
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce verify --source stripe --request delivery.http\n  hookonce verify --provider github --secret env:GITHUB_SECRET --headers head.txt --body body.json',
    )
    .action(async (flags: VerifyFlags) => verify(shell, flags))
}

function readMoment(text: string): Date {
  try {
    const { after } = parseFilter(`after:${text.replace(/ ago$/, '')}`)
    if (after !== undefined) return after
  } catch {
    // The filter's own words speak of a term that was not written.
  }
  throw new InvalidArgumentError(
    'It must be how long ago, such as 2h, or a time such as 2026-11-16T03:00Z.',
  )
}

async function verify(shell: Shell, flags: VerifyFlags): Promise<void> {
  const suspect = await findSuspect(shell, flags)
  const delivery = readRequest(shell.folder, flags, flags.at ?? new Date())
  const explained = await explainSignature(suspect, delivery)
  if (!explained.ok) shell.endWith(EXIT.failed)
  if (flags.json === true) return printJson(shell, explained)
  const { ok, verifiedBy, problem = '', reason, hints } = explained
  if (ok)
    return shell.print(
      `${paint(shell, 'green', 'ok')}  The signature holds, by secret ${escapeText(verifiedBy ?? '')}.`,
    )
  shell.print(`${paint(shell, 'red', reason ?? 'refused')}  ${escapeText(problem)}`)
  for (const hint of hints) shell.print(`  ${escapeText(hint)}`)
}

async function findSuspect(shell: Shell, flags: VerifyFlags): Promise<Suspect> {
  const { source = '', provider } = flags
  if ((flags.source === undefined) === (provider === undefined))
    throw new OptionInvalidError('verify', {
      message:
        'Say whose signature it is: --source <name> of the config, or --provider <name> with --secret.',
    })
  if (provider !== undefined) return suspectOf(readGiven(shell, provider, flags), new Map())
  const { folder, environment } = shell
  const { config } = await loadConfig({ folder, environment, file: flags.config })
  const given = config.sources[source]
  if (given === undefined)
    throw new HookonceError(
      'CONFIG_INVALID',
      `There is no source "${source}"${didYouMean(source, Object.keys(config.sources))}`,
    )
  const { [source]: _own, ...others } = buildSources(config)
  return suspectOf(given, new Map(Object.entries(others)))
}

function readGiven(
  { folder, environment }: Shell,
  provider: string,
  { secret, option }: VerifyFlags,
): ResolvedSourceConfig {
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
  return { ...value, provider }
}

function suspectOf(given: ResolvedSourceConfig, others: ReadonlyMap<string, Source>): Suspect {
  const build = (one: ResolvedSourceConfig): Source =>
    buildSources({ sources: { source: one } })['source'] as Source
  return {
    source: build(given),
    secrets: (given.secrets ?? []).map((each) => (typeof each === 'string' ? each : each.value)),
    withSecret: (secret) => {
      try {
        return build({ ...given, secrets: [secret] })
      } catch {
        return undefined
      }
    },
    others,
  }
}
