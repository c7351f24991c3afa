/**
 * `hookonce prune`: removes what is older than its retention, now.
 *
 * @module
 */

import type { Command } from 'commander'
import { OptionInvalidError } from '../../errors.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import { readAction, withActionFlags, withOperator } from '../operator-flags.ts'
import type { ActionFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printRefusal } from '../output/print-result.ts'
import type { Shell } from '../shell.ts'
import { whileWorking } from '../while-working.ts'

interface PruneFlags extends ActionFlags {
  readonly force?: boolean
}

export function addPrune(program: Command, shell: Shell): void {
  withActionFlags(program.command('prune'))
    .description('remove what is older than its retention, as the daily run does')
    .option('--force', 'also where it is far more than usual; needs --reason')
    .option('--yes', 'with --force: without asking')
    .addHelpText(
      'after',
      "\nExamples:\n  hookonce prune\n  hookonce prune --force --reason 'retention was lowered to 7 days'",
    )
    .action(async (flags: PruneFlags) => prune(shell, flags))
}

async function prune(shell: Shell, flags: PruneFlags): Promise<void> {
  const force = flags.force === true
  if (force && flags.reason === undefined)
    throw new OptionInvalidError('--reason', {
      message: '--force needs --reason: the audit keeps it',
    })
  const question = 'Remove what is past its retention, however much it is?'
  if (force && !(await confirm(shell, question, flags))) return shell.endWith(EXIT.failed)
  const result = await whileWorking(
    shell,
    () => 'removing what is past its retention',
    () =>
      withOperator(shell, flags, (operator) =>
        operator.prune({ ...readAction(shell, flags), force }),
      ),
  )
  const removed = Object.entries(result.removed).filter(([, count]) => count > 0)
  if (result.status === 'refused') shell.endWith(EXIT.failed)
  if (flags.json === true) return printJson(shell, result)
  if (result.status === 'refused') printRefusal(shell, 'prune', result)
  for (const [what, count] of removed) shell.print(`${count} ${what}`)
  if (removed.length === 0 && result.status === 'done')
    shell.print('Nothing is past its retention.')
}
