/**
 * `hookonce pause`, `resume` and `pauses`: what is kept still, in every process.
 *
 * @module
 */

import { Argument } from 'commander'
import type { Command } from 'commander'
import { parseFilter } from '../../admin/filter-text.ts'
import { OptionInvalidError } from '../../errors.ts'
import type { Operator, PauseKind, PauseRecord, PauseTarget } from '../../index.ts'
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
      const { result, isSeen } = await withOperator(shell, flags, async (operator) => ({
        result: await operator[action](target, readAction(shell, flags)),
        isSeen: await isSeenLately(operator, target),
      }))
      printResults(shell, [{ subject: `${kind} ${name}`, result }], {
        json: flags.json,
        did: (subject) => `${subject} is ${action === 'pause' ? 'paused' : 'going on'}.`,
      })
      // It may be paused before its first event comes, so that a wrong name cannot be refused.
      if (action === 'pause' && result.status === 'done' && !isSeen)
        shell.printError(
          `None of the latest ${kind === 'source' ? 'events is of this source' : 'messages is for this destination'}. Is its name right? See: hookonce stats`,
        )
    })
}

/** Of a handler nothing is kept before it is paused, and a lane that no event has been in is refused. */
async function isSeenLately(operator: Operator, target: PauseTarget): Promise<boolean> {
  if ('source' in target) {
    const { events } = await operator.list({ source: target.source, limit: 1 })
    return events.length > 0
  }
  if (!('destination' in target)) return true
  const { messages } = await operator.listMessages({ destination: target.destination, limit: 1 })
  return messages.length > 0
}

function readTarget(kind: PauseKind, name: string): PauseTarget {
  if (kind !== 'lane') return { [kind]: name } as PauseTarget
  if (name.indexOf('/') < 1)
    throw new OptionInvalidError('name', {
      message: `A lane is named by its source and its key, such as ${name === '' ? 'stripe' : name}/cus_9: hookonce lanes lists those that wait`,
    })
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
