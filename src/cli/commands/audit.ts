/**
 * `hookonce audit`: what operators did.
 *
 * @module
 */

import type { Command } from 'commander'
import type { AuditRecord } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import { withOperator, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { advisePage } from '../output/advise-page.ts'
import { printJson } from '../output/print-json.ts'
import { printTable } from '../output/print-table.ts'
import { formatMoment } from '../output/times.ts'
import { readLimit } from '../read-flags.ts'
import type { Shell } from '../shell.ts'

interface AuditFlags extends OperatorFlags {
  readonly event?: string
  readonly limit: number
  readonly cursor?: string
}

export function addAudit(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('audit'))
    .description('what operators did, latest first')
    .option('--event <id>', 'to this event')
    .option('--limit <n>', 'how many at most', readLimit, 50)
    .option('--cursor <id>', 'where the page before ended')
    .addHelpText('after', '\nExamples:\n  hookonce audit\n  hookonce audit --event <id> --json')
    .action(async (flags: AuditFlags) => audit(shell, flags))
}

async function audit(shell: Shell, flags: AuditFlags): Promise<void> {
  const { event, limit, cursor } = flags
  const rows = await withOperator(shell, flags, (operator) =>
    operator.listAudit({
      limit,
      ...(event !== undefined && { eventId: event }),
      ...(cursor !== undefined && { cursor }),
    }),
  )
  if (rows.length === 0) shell.endWith(EXIT.nothing)
  if (flags.json === true) return printJson(shell, rows)
  if (rows.length === 0)
    return shell.printError(
      event === undefined
        ? 'No operator has done anything.'
        : `No operator has done anything to the event ${escapeText(event)}.`,
    )
  printTable<AuditRecord>(
    shell,
    [
      { head: 'when', cell: ({ at }) => formatMoment(at), isWhole: true },
      { head: 'who', cell: ({ actor }) => actor ?? '', dispensable: 1 },
      { head: 'did', cell: ({ action }) => action },
      { head: 'to', cell: ({ subject }) => `${subject.kind} ${subject.id}` },
    ],
    rows,
    { note: ({ reason }) => reason },
  )
  advisePage(shell, rows, limit)
}
