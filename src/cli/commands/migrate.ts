/**
 * `hookonce migrate`: the tables, made or brought up to date, or printed for those who do it by hand.
 *
 * @module
 */

import type { Command } from 'commander'
import { migrateStore, printSchema } from '../../gateway/migrate-store.ts'
import { findStore, withStoreFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import type { Shell } from '../shell.ts'

export function addMigrate(program: Command, shell: Shell): void {
  withStoreFlags(program.command('migrate'))
    .description('make the tables of a store, or bring them up to date')
    .option('--print', 'print the SQL instead, and connect to nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  hookonce migrate --store env:DATABASE_URL\n  hookonce migrate --print --store postgres:// > hookonce.sql',
    )
    .action(async (flags: OperatorFlags & { readonly print?: boolean }) => {
      const store = await findStore(shell, flags)
      if (flags.print === true) return shell.print(printSchema(store).trimEnd())
      shell.print(`${await migrateStore(store, shell.folder)} is up to date.`)
    })
}
