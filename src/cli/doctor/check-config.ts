/**
 * Whether a gateway would start on this config, and what in it will be regretted.
 *
 * @module
 */

import { asError } from '../../errors.ts'
import { buildInbox } from '../../gateway/build-inbox.ts'
import { buildSources } from '../../gateway/build-sources.ts'
import type { LoadedConfig } from '../../gateway/config/load-config.ts'
import type { ResolvedSourceConfig } from '../../gateway/config/schema.ts'
import type { Finding } from './finding.ts'

const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore }

function ignore(): void {
  // What would be logged is among the findings.
}

export function checkSources({ config, references }: LoadedConfig): readonly Finding[] {
  const entries = Object.entries(config.sources)
  if (entries.length === 0)
    return [
      {
        level: 'warning',
        check: 'sources',
        message: 'there are none',
        advice: 'Add one under `sources` of the config: docs/gateway.md.',
      },
    ]
  return [
    ...entries.flatMap(([name, given]) => checkSource(name, given, references)),
    ...checkShared(entries),
  ]
}

function checkSource(
  name: string,
  given: ResolvedSourceConfig,
  references: ReadonlyMap<string, string>,
): readonly Finding[] {
  const check = `source ${name}`
  try {
    const source = buildSources({ sources: { [name]: given } })[name]
    const warnings = source?.warnings ?? []
    const written = secretsOf(given).findIndex(
      (_, index) =>
        !references.has(`sources.${name}.secrets.${index}`) &&
        !references.has(`sources.${name}.secrets.${index}.value`),
    )
    const findings = [
      ...warnings.map((message): Finding => ({ level: 'warning', check, message })),
      ...(written < 0
        ? []
        : [
            warn(
              check,
              `secrets[${written}] is written in the config`,
              'Let the config refer to it: env:NAME or file:path.',
            ),
          ]),
      ...((given.forward ?? []).length > 0
        ? []
        : [
            warn(
              check,
              'forwards to nothing',
              'Its events are stored, and wait as `unhandled`. Name a destination under `forward`.',
            ),
          ]),
    ]
    return findings.length > 0
      ? findings
      : [
          {
            level: 'ok',
            check,
            message: `${source?.provider ?? ''}, with secrets that can be used`,
          },
        ]
  } catch (error) {
    const message = asError(error).message.replace(/^The config cannot be used:\s*- /, '')
    return [
      {
        level: 'problem',
        check,
        message,
        advice: 'No delivery of it can be believed until this is mended.',
      },
    ]
  }
}

/** One leaked secret shall open one source. */
function checkShared(
  entries: readonly (readonly [string, ResolvedSourceConfig])[],
): readonly Finding[] {
  const owners = new Map<string, string>()
  return entries.flatMap(([name, given]) =>
    secretsOf(given).flatMap((secret) => {
      const owner = owners.get(secret)
      owners.set(secret, owner ?? name)
      return owner === undefined || owner === name
        ? []
        : [
            warn(
              `source ${name}`,
              `has the secret of ${owner}`,
              'Give each source a secret of its own: a sender that has it could sign for both.',
            ),
          ]
    }),
  )
}

/** Retention against the time for which senders come again, destinations that must not be reached, and the rest. */
export async function checkStart(
  { config }: LoadedConfig,
  folder: string,
): Promise<readonly Finding[]> {
  try {
    const inbox = buildInbox(config, { folder, logger: SILENT })
    await inbox.stop()
    return [
      {
        level: 'ok',
        check: 'retention',
        message: `keys are kept for ${String(config.retention.keysDays)} days, longer than any source comes again`,
      },
    ]
  } catch (error) {
    const { message } = asError(error)
    return [
      {
        level: 'problem',
        check: 'config',
        message,
        advice: 'hookonce start would refuse this config.',
      },
    ]
  }
}

function secretsOf({ secrets = [] }: ResolvedSourceConfig): readonly string[] {
  return secrets.map((each) => (typeof each === 'string' ? each : each.value))
}

function warn(check: string, message: string, advice: string): Finding {
  return { level: 'warning', check, message, advice }
}
