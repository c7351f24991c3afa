/**
 * `hookonce verify`: whether a signature holds, and why not.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { parseFilter } from '../../admin/filter-text.ts'
import { buildSources } from '../../gateway/build-sources.ts'
import type { ResolvedSourceConfig } from '../../gateway/config/schema.ts'
import type { Source } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { findNamedSource, withSourceFlags } from '../named-source.ts'
import type { SourceFlags } from '../named-source.ts'
import { paint } from '../output/paint.ts'
import { printJson } from '../output/print-json.ts'
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
  const { given, config } = await findNamedSource(shell, 'verify', flags)
  if (config === undefined) return suspectOf(given, new Map())
  const { [flags.source ?? '']: _own, ...others } = buildSources(config)
  return suspectOf(given, new Map(Object.entries(others)))
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
