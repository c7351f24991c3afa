import type { ActionRefused, ActionResult } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { EXIT } from '../exit-codes.ts'
import type { Shell } from '../shell.ts'
import { advise } from './advise.ts'
import { paint } from './paint.ts'
import { printJson } from './print-json.ts'

/** What became of one of the things that a command was about. */
export interface Acted {
  /** Its id, or what it is called. */
  readonly subject: string
  readonly result: ActionResult
}

/**
 * Says what was done and what was refused, with what to do instead. What is not there is not what failed: the process
 * ends with 3 where nothing else was asked for.
 */
export function printResults(
  shell: Shell,
  acted: readonly Acted[],
  { json, did }: { readonly json?: boolean | undefined; readonly did: (subject: string) => string },
): void {
  const refusals = acted.flatMap(({ result }) => (result.status === 'refused' ? [result] : []))
  if (json === true)
    printJson(
      shell,
      acted.map(({ subject, result }) => ({ subject, ...result })),
    )
  else for (const { subject, result } of acted) printOne(shell, subject, result, did)
  if (refusals.length === 0) return
  const areMissing = refusals.length === acted.length && refusals.every(isMissing)
  shell.endWith(areMissing ? EXIT.nothing : EXIT.failed)
}

function printOne(
  shell: Shell,
  subject: string,
  result: ActionResult,
  did: (subject: string) => string,
): void {
  if (result.status === 'done') return shell.print(escapeText(did(subject)))
  printRefusal(shell, subject, result)
}

/** Why not, and what to do instead. */
export function printRefusal(shell: Shell, subject: string, refused: ActionRefused): void {
  const { code, reason, instead } = refused
  shell.printError(
    `${escapeText(subject)}: ${paint(shell, 'red', 'refused')} (${escapeText(code)}). ${escapeText(reason)}`,
  )
  shell.printError(`  ${escapeText(advise(instead, subject))}`)
}

function isMissing({ code }: ActionRefused): boolean {
  return code === 'EVENT_UNKNOWN' || code === 'MESSAGE_UNKNOWN' || code === 'BULK_UNKNOWN'
}
