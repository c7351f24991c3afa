/**
 * `hookonce doctor`: whether it would work, and what to do where it would not.
 *
 * @module
 */

import type { Command } from 'commander'
import { asError, OptionInvalidError } from '../../errors.ts'
import { loadConfig } from '../../gateway/config/load-config.ts'
import type { LoadedConfig } from '../../gateway/config/load-config.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { checkSources, checkStart } from '../doctor/check-config.ts'
import { checkDestinations } from '../doctor/check-destinations.ts'
import { checkRawBody } from '../doctor/check-raw-body.ts'
import { checkStore } from '../doctor/check-store.ts'
import type { Finding } from '../doctor/finding.ts'
import { EXIT } from '../exit-codes.ts'
import { buildNamedSource, findNamedSource, withSourceFlags } from '../named-source.ts'
import type { SourceFlags } from '../named-source.ts'
import { findPlace, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { padText } from '../output/display-width.ts'
import { paint } from '../output/paint.ts'
import { printJson } from '../output/print-json.ts'
import { wrapWords } from '../output/wrap-text.ts'
import { refuseIdleFlags } from '../refuse-idle-flags.ts'
import type { Shell } from '../shell.ts'

interface DoctorFlags extends OperatorFlags, SourceFlags {
  readonly to?: string
}

export function addDoctor(program: Command, shell: Shell): void {
  const command = withOperatorFlags(program.command('doctor'), { reaches: 'store' })
    .description(
      'check the store, its durability, clocks, secrets, retention and destinations, or a receiver',
    )
    .option(
      '--to <url>',
      'check a running receiver instead: whether bodies arrive as they are sent',
    )
  withSourceFlags(command)
    .addHelpText('after', HELP)
    .action(async (flags: DoctorFlags) => {
      const findings = await examine(shell, flags)
      if (findings.some(({ level }) => level === 'problem')) shell.endWith(EXIT.notReady)
      if (flags.json === true) printJson(shell, findings)
      else print(shell, findings)
    })
}

const HELP = `
Ends with 4 where there is a problem. With --store only the store is checked, with --to only the
receiver: it is sent probes, which it answers and does not store.

Examples:
  hookonce doctor
  hookonce doctor --store env:DATABASE_URL --json
  hookonce doctor --to https://hooks.example.com/in/stripe --source stripe
  hookonce doctor --to https://example.com/webhooks --provider stripe --secret env:STRIPE_WEBHOOK_SECRET`

const OF_RECEIVER = ['source', 'provider', 'secret', 'option'] as const

async function examine(shell: Shell, flags: DoctorFlags): Promise<readonly Finding[]> {
  const { folder, environment } = shell
  if (flags.to !== undefined) return examineReceiver(shell, flags.to, flags)
  refuseIdleFlags(flags, OF_RECEIVER, 'it is for a receiver. Add --to <url>, or leave it out')
  if (flags.store !== undefined) {
    const { url, encryption } = await findPlace(shell, flags)
    return checkStore(url, folder, encryption)
  }
  let loaded: LoadedConfig
  try {
    loaded = await loadConfig({ folder, environment, file: flags.config })
  } catch (error) {
    const { message } = asError(error)
    return [
      {
        level: 'problem',
        check: 'config',
        message,
        advice: 'docs/reference/configuration.md has every setting.',
      },
    ]
  }
  const store = await checkStore(loaded.config.store, folder, loaded.config.encryption)
  const isUsable = !store.some(({ level, check }) => level === 'problem' && check === 'store')
  const sources = checkSources(loaded)
  const canBuild = isUsable && !sources.some(({ level }) => level === 'problem')
  return [
    {
      level: 'ok',
      check: 'config',
      message: loaded.file ?? 'no file: defaults and the environment',
    },
    ...store,
    ...sources,
    ...(canBuild ? await checkStart(loaded, folder) : []),
    ...(await checkDestinations(loaded.config)),
  ]
}

async function examineReceiver(
  shell: Shell,
  to: string,
  flags: DoctorFlags,
): Promise<readonly Finding[]> {
  refuseIdleFlags(flags, ['store'], 'with --to only the receiver is checked. Say one of them')
  const url = URL.canParse(to) ? new URL(to) : undefined
  const isPlain = url?.username === '' && url.password === ''
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isPlain)
    throw new OptionInvalidError('--to', 'the URL that a sender has, such as https://…', to)
  const { given, config } = await findNamedSource(shell, 'doctor --to', flags)
  return checkRawBody(to, buildNamedSource(given, config))
}

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function print(shell: Shell, findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length))
  for (const { level, check, message, advice } of findings) {
    const indent = ' '.repeat(width + 11)
    const [first = '', ...rest] = [message, ...(advice === undefined ? [] : [advice])]
      .flatMap((text) => text.split('\n'))
      .flatMap((text) => wrapWords(escapeText(text), shell.columns - indent.length))
    const mark = paint(shell, STYLES[level], padText(level, 7))
    shell.print(`${mark}  ${padText(escapeText(check), width)}  ${first}`)
    for (const line of rest) shell.print(`${indent}${line}`)
  }
}
