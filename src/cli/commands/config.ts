/**
 * `hookonce config`: what the config says, and where.
 *
 * @module
 */

import type { Command } from 'commander'
import { listSettings } from '../../gateway/config/print-config.ts'
import { configJsonSchema } from '../../gateway/config/schema.ts'
import { loadFromFlags, withConfigFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import type { Shell } from '../shell.ts'

export function addConfig(program: Command, shell: Shell): void {
  const config = program.command('config').description('what a gateway is told')
  withConfigFlags(config.command('print'))
    .description('every value, and where it was said; secrets are masked')
    .option('--json', 'for programs')
    .addHelpText('after', '\nExamples:\n  hookonce config print\n  hookonce config print --json')
    .action(async (flags: PrintFlags) => print(shell, flags))
  config
    .command('schema')
    .description('the JSON Schema of a config file')
    .addHelpText('after', '\nExamples:\n  hookonce config schema > hookonce.schema.json')
    .action(() => printJson(shell, configJsonSchema()))
}

type PrintFlags = ConfigFlags & { readonly json?: boolean }

async function print(shell: Shell, flags: PrintFlags): Promise<void> {
  const settings = listSettings(await loadFromFlags(flags))
  if (flags.json === true) return printJson(shell, settings)
  printTable(
    shell,
    [
      // The ends of names are what tells them apart.
      { head: 'setting', isWhole: true, cell: ({ path }) => path },
      {
        head: 'value',
        cell: ({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)),
      },
      { head: 'from', dispensable: 1, cell: ({ origin }) => origin },
    ],
    settings,
  )
}
