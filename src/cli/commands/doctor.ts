/**
 * `hookonce doctor`: whether it would work, and what to do where it would not.
 *
 * @module
 */

import type { Command } from 'commander'
import { asError } from '../../errors.ts'
import { loadConfig } from '../../gateway/config/load-config.ts'
import type { LoadedConfig } from '../../gateway/config/load-config.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { checkSources, checkStart } from '../doctor/check-config.ts'
import { checkDestinations } from '../doctor/check-destinations.ts'
import { checkStore } from '../doctor/check-store.ts'
import type { Finding } from '../doctor/finding.ts'
import { EXIT } from '../exit-codes.ts'
import { findStore, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { padText } from '../output/display-width.ts'
import { paint } from '../output/paint.ts'
import { printJson } from '../output/print-json.ts'
import type { Shell } from '../shell.ts'

export function addDoctor(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('doctor'))
    .description('check the store, its durability, clocks, secrets, retention and destinations')
    .addHelpText(
      'after',
      '\nEnds with 4 where there is a problem. With --store only the store is checked.\n\nExamples:\n  hookonce doctor\n  hookonce doctor --store env:DATABASE_URL --json',
    )
    .action(async (flags: OperatorFlags) => {
      const findings = await examine(shell, flags)
      if (findings.some(({ level }) => level === 'problem')) shell.endWith(EXIT.notReady)
      if (flags.json === true) printJson(shell, findings)
      else print(shell, findings)
    })
}

async function examine(shell: Shell, flags: OperatorFlags): Promise<readonly Finding[]> {
  const { folder, environment } = shell
  if (flags.store !== undefined) return checkStore(await findStore(shell, flags), folder)
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
  const store = await checkStore(loaded.config.store, folder)
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

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function print(shell: Shell, findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length))
  for (const { level, check, message, advice } of findings) {
    const [first = '', ...rest] = message.split('\n')
    const mark = paint(shell, STYLES[level], padText(level, 7))
    shell.print(`${mark}  ${padText(escapeText(check), width)}  ${escapeText(first)}`)
    for (const line of [...rest, ...(advice === undefined ? [] : [advice])])
      shell.print(`${' '.repeat(width + 11)}${escapeText(line)}`)
  }
}
