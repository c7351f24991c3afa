/**
 * `hookonce lanes`: which lanes stand still, and what for.
 *
 * @module
 */

import type { Command } from 'commander'
import type { EventRecord, StandaloneOperator } from '../../index.ts'
import { EXIT } from '../exit-codes.ts'
import { withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

interface StillLane {
  readonly source: string
  readonly lane: string
  /** How many of the events that were looked at wait in it. */
  readonly waiting: number
  readonly blockedBy: EventRecord['blockedBy']
}

interface LanesFlags extends OperatorFlags {
  readonly source?: string
  readonly limit: number
}

export function addLanes(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('lanes'))
    .description('which lanes stand still, and what each waits for')
    .option('--source <name>', 'of this source')
    .option('--limit <n>', 'how many waiting events to look at', readLimit, 100)
    .addHelpText('after', '\nExamples:\n  hookonce lanes\n  hookonce events list lane:stripe/cus_9')
    .action(async (flags: LanesFlags) => lanes(shell, flags))
}

async function lanes(shell: Shell, flags: LanesFlags): Promise<void> {
  const found = await withOperator(shell, flags, (operator) => collect(operator, flags))
  if (found.lanes.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, found)
  if (found.lanes.length === 0) return shell.printError('No event waits in a lane.')
  printTable<StillLane>(
    shell,
    [
      { head: 'lane', cell: ({ source, lane }) => `${source}/${lane}` },
      { head: 'waiting', cell: ({ waiting }) => String(waiting), isWhole: true },
      { head: 'blocked by', cell: ({ blockedBy }) => blockedBy?.eventId ?? '', isWhole: true },
      {
        head: 'state',
        cell: ({ blockedBy }) => blockedBy?.state ?? '',
        isWhole: true,
        dispensable: 1,
      },
    ],
    found.lanes,
    { note: ({ blockedBy }) => blockedBy?.reason },
  )
  if (found.hasMore) shell.printError(`Looked at ${flags.limit} waiting events: there are more.`)
}

async function collect(
  operator: StandaloneOperator,
  { source, limit }: LanesFlags,
): Promise<{ readonly lanes: readonly StillLane[]; readonly hasMore: boolean }> {
  const query = { state: 'waiting', limit, ...(source !== undefined && { source }) } as const
  const { events, cursor } = await operator.list(query)
  const byLane = new Map<string, StillLane>()
  for (const { id } of events) {
    const event = await operator.findEvent(id)
    if (event?.state !== 'waiting') continue
    const { lane = '' } = event
    const name = `${event.source}/${lane}`
    const before = byLane.get(name)
    // Newest first, so that the last one is at the head and names what holds up all of them.
    byLane.set(name, {
      source: event.source,
      lane,
      waiting: (before?.waiting ?? 0) + 1,
      blockedBy: event.blockedBy,
    })
  }
  return { lanes: [...byLane.values()], hasMore: cursor !== undefined }
}
