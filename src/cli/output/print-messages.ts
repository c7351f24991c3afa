import type { MessageSummary } from '../../index.ts'
import type { Shell } from '../shell.ts'
import { STATE_STYLES } from './paint.ts'
import { printTable } from './print-table.ts'
import { formatAge } from './times.ts'

/** Messages as a table, each with why it is where it is. */
export function printMessages(shell: Shell, messages: readonly MessageSummary[]): void {
  printTable<MessageSummary>(
    shell,
    [
      { head: 'message', cell: ({ id }) => id, isWhole: true },
      {
        head: 'state',
        cell: (one) => one.state,
        isWhole: true,
        style: (one) => STATE_STYLES[one.state],
      },
      { head: 'age', cell: ({ createdAt }) => formatAge(createdAt), isWhole: true, dispensable: 2 },
      { head: 'to', cell: (one) => one.destination },
      { head: 'tries', cell: ({ attempts }) => String(attempts), isWhole: true, dispensable: 3 },
      { head: 'event', cell: ({ eventId }) => eventId ?? '', isWhole: true, dispensable: 4 },
    ],
    messages,
    { note: ({ reason }) => reason },
  )
}
