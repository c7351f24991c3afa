/**
 * `hookonce verify`: whether a signature holds, and why not.
 *
 * @module
 */

import type { Command } from 'commander'
import { buildSources } from '../../gateway/build-sources.ts'
import type { ResolvedSourceConfig } from '../../gateway/config/schema.ts'
import type { Source } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { buildNamedSource, findNamedSource, withSourceFlags } from '../named-source.ts'
import type { SourceFlags } from '../named-source.ts'
import { paint } from '../output/paint.ts'
import { printJson } from '../output/print-json.ts'
import { readTime } from '../read-flags.ts'
import type { Shell } from '../shell.ts'
import { explainSignature } from '../verify/explain-signature.ts'
import type { Suspect } from '../verify/explain-signature.ts'
import { readRequest } from '../verify/read-request.ts'
import type { RequestFiles } from '../verify/read-request.ts'

interface VerifyFlags extends RequestFiles, SourceFlags {
  readonly at?: Date
  readonly json?: boolean
}

export function addVerify(program: Command, shell: Shell): void {
  const command = program
    .command('verify')
    .description('whether the signature of a request holds, and why not')
    .option(
      '-c, --config <file>',
      'the config file (default: hookonce.config.ts, .js or .json here)',
    )
  withSourceFlags(command)
    .option(
      '--request <file>',
      'the whole request: its first line, headers, an empty line, the body',
    )
    .option('--headers <file>', 'its headers, a line each')
    .option('--body <file>', 'its body, byte for byte')
    .option('--at <time>', 'when it came: 2h ago, or 2026-11-16T03:00Z (default: now)', readTime)
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce verify --source stripe --request delivery.http\n  hookonce verify --provider github --secret env:GITHUB_SECRET --headers head.txt --body body.json',
    )
    .action(async (flags: VerifyFlags) => verify(shell, flags))
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
  const { given, config } = await findNamedSource(shell, 'verify', flags)
  const source = buildNamedSource(given, config)
  if (config === undefined) return suspectOf(given, source, new Map())
  const { [flags.source ?? '']: _own, ...sources } = config.sources
  return suspectOf(given, source, new Map(Object.entries(buildSources({ sources }))))
}

function suspectOf(
  given: ResolvedSourceConfig,
  source: Source,
  others: ReadonlyMap<string, Source>,
): Suspect {
  return {
    source,
    secrets: (given.secrets ?? []).map((each) => (typeof each === 'string' ? each : each.value)),
    withSecret: (secret) => {
      try {
        return buildNamedSource({ ...given, secrets: [secret] })
      } catch {
        return undefined
      }
    },
    others,
  }
}
