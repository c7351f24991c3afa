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
import { printTable } from '../print-table.ts'

export function addConfig(program: Command): void {
  const config = program.command('config').description('what a gateway is told')
  withConfigFlags(config.command('print'))
    .description('every value, and where it was said; secrets are masked')
    .option('--json', 'for programs')
    .action(print)
  config
    .command('schema')
    .description('the JSON Schema of a config file')
    .action(() => console.log(JSON.stringify(configJsonSchema(), undefined, 2)))
}

async function print(flags: ConfigFlags & { readonly json?: boolean }): Promise<void> {
  const settings = listSettings(await loadFromFlags(flags))
  if (flags.json === true) {
    console.log(JSON.stringify(settings, undefined, 2))
    return
  }
  printTable(
    ['setting', 'value', 'from'],
    settings.map(({ path, value, origin }) => [
      path,
      typeof value === 'string' ? value : JSON.stringify(value),
      origin,
    ]),
  )
}
