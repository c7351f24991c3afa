/**
 * `hookonce migrate`: the tables, made or brought up to date, or printed to be run by hand.
 *
 * @module
 */

import type { Command } from 'commander'
import { migrateStore, printSchema } from '../../gateway/migrate-store.ts'
import { findStore, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import type { Shell } from '../shell.ts'
import { whileWorking } from '../while-working.ts'

export function addMigrate(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('migrate'), { reaches: 'store' })
    .description('make the tables of a store, or bring them up to date')
    .option('--print', 'print the SQL instead, and connect to nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce migrate --store env:DATABASE_URL\n  hookonce migrate --print --store postgres:// > hookonce.sql',
    )
    .action(async (flags: OperatorFlags & { readonly print?: boolean }) => {
      const store = await findStore(shell, flags)
      if (flags.print === true) {
        const sql = printSchema(store).trimEnd()
        return flags.json === true ? printJson(shell, { sql }) : shell.print(sql)
      }
      const place = await whileWorking(
        shell,
        () => 'bringing the tables up to date',
        () => migrateStore(store, shell.folder),
      )
      if (flags.json === true) printJson(shell, { store: place })
      else shell.print(`${place} is up to date.`)
    })
}
