/**
 * `hookonce reconcile`: compares done events with the user's own tables, by a function of the user's.
 *
 * @module
 */

import path from 'node:path'
import type { Command } from 'commander'
import { HookonceError } from '../../errors.ts'
import { runFile } from '../../gateway/config/read-file.ts'
import { openStore } from '../../gateway/open-store.ts'
import { createInbox } from '../../index.ts'
import type { ReconcileOptions, ReconcileReport } from '../../index.ts'
import { unsigned } from '../../providers/index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import { findActor, findPlace, withOperatorFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import { printItem } from '../output/print-fields.ts'
import { printJson } from '../output/print-json.ts'
import { collect, readTime } from '../read-flags.ts'
import { readNamedFile } from '../read-named-file.ts'
import { refuseIdleFlags } from '../refuse-idle-flags.ts'
import type { Shell } from '../shell.ts'
import { whileWorking } from '../while-working.ts'

interface ReconcileFlags extends OperatorFlags {
  readonly since: Date
  readonly until?: Date
  readonly type: readonly string[]
  readonly with: string
  readonly rerun?: boolean
  readonly yes?: boolean
  readonly reason?: string
  readonly actor?: string
}

export function addReconcile(program: Command, shell: Shell): void {
  withOperatorFlags(program.command('reconcile'), { reaches: 'store' })
    .description('compare done events with your own tables, and list those whose effect is missing')
    .argument('<source>', 'whose events')
    .requiredOption(
      '--with <file>',
      'a file of code whose default export is (event, tx) => whether the effect is there',
    )
    .requiredOption('--since <time>', 'what was stored before is left alone', readTime)
    .option('--until <time>', 'what was stored later is left alone (default: now)', readTime)
    .option('--type <type>', 'only these types or patterns, such as invoice.*', collect, [])
    .option('--rerun', 'replay the events whose effect is missing; needs --reason')
    .option('--yes', 'with --rerun: without asking')
    .option('--reason <text>', 'why; the audit keeps it')
    .option('--actor <who>', 'who (default: HOOKONCE_ACTOR, or your name on this machine)')
    .addHelpText('after', EXAMPLES)
    .action(async (source: string, flags: ReconcileFlags) => reconcile(shell, source, flags))
}

const EXAMPLES = `
It needs the database itself, and not a gateway: the function reads your tables in the same transaction as ours.

The file, which reads your tables in a transaction that cannot write:

  export default async (event, tx) => {
    const { rows } = await tx.query('select 1 from invoices where id = $1', [event.payload.id])
    return rows.length > 0
  }

Examples:
  hookonce reconcile stripe --with ./is-paid.ts --since 2d --type invoice.paid
  hookonce reconcile stripe --with ./is-paid.ts --since 2d --rerun --reason 'invoices was restored'`

async function reconcile(shell: Shell, source: string, flags: ReconcileFlags): Promise<void> {
  if (flags.rerun === true && flags.reason === undefined)
    throw new HookonceError('CONFIG_INVALID', '--rerun needs --reason: the audit keeps it')
  if (flags.rerun !== true)
    refuseIdleFlags(flags, ['reason', 'actor'], 'nothing is replayed. Add --rerun, or leave it out')
  const exists = await readFunction(shell.folder, flags.with)
  const question = `Replay every event of ${escapeText(source)} whose effect is missing?`
  if (flags.rerun === true && !(await confirm(shell, question, flags)))
    return shell.endWith(EXIT.failed)
  const { url, encryption } = await findPlace(shell, flags)
  const { store, close } = openStore(url, shell.folder, { migrate: 'check', encryption })
  // It receives nothing and runs nothing: a replay waits for a worker of the service.
  const inbox = createInbox({
    store,
    sources: { [source]: unsigned({ verify: 'none', key: 'body' }) },
    worker: false,
    relay: false,
    logger: SILENT,
  })
  const { since, until, type, rerun, reason = '', actor = findActor(shell) } = flags
  try {
    let asked = 0
    const options: ReconcileOptions<unknown> = {
      source,
      since,
      exists: (event, tx) => {
        asked += 1
        return exists(event, tx)
      },
      signal: shell.interrupted,
      ...(until !== undefined && { until }),
      ...(type.length > 0 && { types: type }),
      ...(rerun === true && { rerun: { reason, actor } }),
    }
    const report = await whileWorking(
      shell,
      () => `${asked} looked at`,
      () => inbox.reconcile(options),
    )
    print(shell, report, flags)
  } finally {
    await inbox.stop()
    await close()
  }
}

/** What a source that verifies nothing would warn of is not meant for this command. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore }

function ignore(): void {
  // The report says what there is to say.
}

type Exists = ReconcileOptions<unknown>['exists']

async function readFunction(folder: string, file: string): Promise<Exists> {
  // One that is not there is told as a file, and not as a module.
  readNamedFile(folder, '--with', file)
  const found = await runFile(path.resolve(folder, file))
  if (typeof found === 'function') return found as Exists
  throw new HookonceError(
    'CONFIG_INVALID',
    `${file} must export a function by default: export default async (event, tx) => true`,
  )
}

function print(shell: Shell, report: ReconcileReport, { json, rerun }: ReconcileFlags): void {
  if (!report.isComplete || report.failed > 0) shell.endWith(EXIT.failed)
  if (json === true) return printJson(shell, report)
  const { lookedAt, missing, missingEvents, replayed, failed, failedEvents } = report
  for (const { eventId, type, key = '' } of missingEvents)
    printItem(shell, `${eventId}  ${type}  ${key}`)
  for (const { eventId, error } of failedEvents)
    printItem(shell, `${eventId}: ${error.message}`, 'red')
  shell.print(
    `${lookedAt} looked at, ${missing} without their effect${rerun === true ? `, ${replayed} replayed` : ''}, ${failed} failed.`,
  )
  if (report.withoutPayload > 0)
    shell.printError(
      `${report.withoutPayload} have no payload any more: nothing was asked of them.`,
    )
  if (!report.isComplete) shell.printError('It was broken off. What was replayed stays.')
}
