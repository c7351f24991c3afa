import type { EventSummary } from '../../index.ts'
import type { Shell } from '../shell.ts'
import { STATE_STYLES } from './paint.ts'
import { printTable } from './print-table.ts'
import type { Column } from './print-table.ts'
import { formatAge } from './times.ts'

/** Events as a list, each with what went wrong below it. */
export function printEvents(shell: Shell, events: readonly EventSummary[]): void {
  printTable(shell, COLUMNS, events, {
    note: ({ error, reason }) => error ?? reason,
  })
}

const COLUMNS: readonly Column<EventSummary>[] = [
  { head: 'event', cell: ({ id }) => id, isWhole: true },
  {
    head: 'state',
    cell: ({ state }) => state,
    isWhole: true,
    style: ({ state }) => STATE_STYLES[state],
  },
  { head: 'age', cell: ({ receivedAt }) => formatAge(receivedAt), isWhole: true, dispensable: 2 },
  { head: 'source', cell: ({ source }) => source, dispensable: 3 },
  { head: 'type', cell: ({ type }) => type },
  { head: 'tries', cell: ({ attempts }) => String(attempts), isWhole: true, dispensable: 4 },
  { head: 'key', cell: ({ key }) => key ?? '', dispensable: 5 },
]
