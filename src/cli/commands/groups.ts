/**
 * `hookonce groups`: what is wrong, by what it has in common.
 *
 * @module
 */

import type { Command } from 'commander'
import type { ErrorGroup } from '../../index.ts'
import { EXIT } from '../exit-codes.ts'
import { withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatAge } from '../output/times.ts'
import { readLimit, readTime } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

interface GroupsFlags extends OperatorFlags {
  readonly failed?: boolean
  readonly source?: string
  readonly after?: Date
  readonly limit: number
}

export function addGroups(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('groups'))
    .description('what is wrong, most frequent first: a thousand dead events are often two errors')
    .option('--failed', 'events that failed and run again by themselves, instead of dead ones')
    .option('--source <name>', 'of this source')
    .option('--after <time>', 'that failed since: 2h, 7d, 2026-11-16T03:00Z', readTime)
    .option('--limit <n>', 'how many groups at most', readLimit, 20)
    .addHelpText('after', '\nExamples:\n  hookonce groups\n  hookonce groups --failed --after 1h')
    .action(async (flags: GroupsFlags) => groups(shell, flags))
}

async function groups(shell: Shell, flags: GroupsFlags): Promise<void> {
  const { failed, source, after: since, limit } = flags
  const found = await withOperator(shell, flags, (operator) =>
    operator.groups({
      state: failed === true ? 'failed' : 'dead',
      limit,
      ...(source !== undefined && { source }),
      ...(since !== undefined && { since }),
    }),
  )
  if (found.groups.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, found)
  if (found.groups.length === 0)
    return shell.printError(
      failed === true ? 'No event waits after a failure.' : 'No event is dead. All is well.',
    )
  printTable<ErrorGroup>(
    shell,
    [
      { head: 'events', cell: ({ count }) => String(count), isWhole: true },
      { head: 'last', cell: ({ lastSeenAt }) => formatAge(lastSeenAt), isWhole: true },
      { head: 'handler', cell: ({ handler, reason }) => handler ?? reason, dispensable: 2 },
      { head: 'source', cell: ({ sources }) => sources.join(', '), dispensable: 3 },
      { head: 'for example', cell: ({ sample }) => sample[0] ?? '', isWhole: true, dispensable: 1 },
    ],
    found.groups,
    { note: ({ message }) => message },
  )
  if (!found.isComplete)
    shell.printError(`Counted among the latest ${found.lookedAt} events: there are more.`)
}
