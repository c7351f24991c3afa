/**
 * `hookonce pause`, `resume` and `pauses`: what is kept still, in every process.
 *
 * @module
 */

import { Argument } from 'commander'
import type { Command } from 'commander'
import { parseFilter } from '../../admin/filter-text.ts'
import type { PauseKind, PauseRecord, PauseTarget } from '../../index.ts'
import { EXIT } from '../exit-codes.ts'
import { readAction, withActionFlags, withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { ActionFlags, OperatorFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printResults } from '../output/print-result.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge } from '../output/times.ts'
import type { Shell } from '../shell.ts'

const KINDS: readonly PauseKind[] = ['source', 'handler', 'destination', 'lane']

export function addPauses(program: Command, shell: Shell): void {
  addOne(program, shell, 'pause', 'keep it still: deliveries are stored, and nothing of it runs')
  addOne(program, shell, 'resume', 'let it go on')
  withOperatorFlags(program.command('pauses'))
    .description('what is paused, by whom, why and since when')
    .addHelpText('after', '\nExamples:\n  hookonce pauses')
    .action(async (flags: OperatorFlags) => list(shell, flags))
}

function addOne(
  program: Command,
  shell: Shell,
  action: 'pause' | 'resume',
  description: string,
): void {
  withActionFlags(program.command(action))
    .description(description)
    .addArgument(new Argument('<kind>', 'what it is').choices(KINDS))
    .argument('<name>', 'its name; of a lane <source>/<key>')
    .addHelpText(
      'after',
      `\nExamples:\n  hookonce ${action} destination warehouse --reason 'it is moving'\n  hookonce ${action} lane stripe/cus_9`,
    )
    .action(async (kind: PauseKind, name: string, flags: ActionFlags) => {
      const target = readTarget(kind, name)
      const result = await withOperator(shell, flags, (operator) =>
        operator[action](target, readAction(shell, flags)),
      )
      printResults(shell, [{ subject: `${kind} ${name}`, result }], {
        json: flags.json,
        did: (subject) => `${subject} is ${action === 'pause' ? 'paused' : 'going on'}.`,
      })
    })
}

function readTarget(kind: PauseKind, name: string): PauseTarget {
  if (kind !== 'lane') return { [kind]: name } as PauseTarget
  const { lane } = parseFilter(`lane:"${name.replace(/["\\]/g, '\\$&')}"`)
  return { lane } as PauseTarget
}

async function list(shell: Shell, flags: OperatorFlags): Promise<void> {
  const pauses = await withOperator(shell, flags, (operator) => operator.listPauses())
  if (pauses.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, pauses)
  if (pauses.length === 0) return shell.printError('Nothing is paused.')
  printTable<PauseRecord>(
    shell,
    [
      { head: 'kind', cell: ({ kind }) => kind, isWhole: true },
      {
        head: 'name',
        cell: (pause) => (pause.kind === 'lane' ? `${pause.source}/${pause.name}` : pause.name),
      },
      { head: 'for', cell: ({ pausedAt }) => formatAge(pausedAt), isWhole: true },
      { head: 'by', cell: ({ actor }) => actor ?? '', dispensable: 1 },
    ],
    pauses,
    { note: ({ reason }) => reason },
  )
}
