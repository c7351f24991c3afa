/**
 * `hookonce erase`: takes the bytes of events out of every table, for good.
 *
 * @module
 */

import type { Command } from 'commander'
import type { EraseWhereResult, StandaloneOperator } from '../../index.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import {
  readAction,
  readFilter,
  withActionFlags,
  withOperator,
  withOwnToken,
} from '../operator-flags.ts'
import type { ActionFlags } from '../operator-flags.ts'
import { printJson } from '../output/print-json.ts'
import { printRefusal, printResults } from '../output/print-result.ts'
import type { Acted } from '../output/print-result.ts'
import type { Shell } from '../shell.ts'
import { whileWorking } from '../while-working.ts'

interface EraseFlags extends ActionFlags {
  readonly reason: string
  readonly source?: string
  readonly where?: string
}

export function addErase(program: Command, shell: Shell): void {
  withActionFlags(program.command('erase'), { needsReason: true })
    .description('take the bytes of events out of every table, for good: how they ended stays')
    .argument('[id...]', 'the ids of events; or --source and --where')
    .option('--source <name>', 'with --where: whose events are looked through')
    .option('--where <path=value>', 'every event with this value in its payload')
    .option('--yes', 'without asking')
    .addHelpText(
      'after',
      "\nThe audit keeps the reason, so that it must not hold what is erased.\n\nExamples:\n  hookonce erase <id> --reason 'request 12 of the privacy desk'\n  hookonce erase --source shop --where '$.customer.id=cus_9' --reason 'request 12'",
    )
    .action(async (ids: string[], flags: EraseFlags) => {
      const isWhere = flags.source !== undefined && flags.where !== undefined
      if (
        ids.length > 0 === isWhere ||
        (flags.source === undefined) !== (flags.where === undefined)
      ) {
        shell.printError("Give the ids of events, or --source and --where '$.path=value'.")
        return shell.endWith(EXIT.usage)
      }
      const what = isWhere
        ? `every event of ${flags.source} where ${flags.where}`
        : ids.length === 1
          ? `event ${ids[0]}`
          : `${ids.length} events`
      if (!(await confirm(shell, `Erase the bytes of ${what}? They cannot be had back.`, flags)))
        return shell.endWith(EXIT.failed)
      await withOperator(shell, flags, (operator) =>
        isWhere ? eraseWhere(shell, operator, flags) : eraseEach(shell, operator, ids, flags),
      )
    })
}

async function eraseEach(
  shell: Shell,
  operator: StandaloneOperator,
  ids: readonly string[],
  flags: EraseFlags,
): Promise<void> {
  const options = readAction(shell, flags)
  const acted: Acted[] = []
  for (const id of ids) {
    const order = { ...withOwnToken(options, id, ids), reason: flags.reason }
    acted.push({ subject: id, result: await operator.erase(id, order) })
  }
  printResults(shell, acted, { json: flags.json, did: (id) => `${id} is erased.` })
}

async function eraseWhere(
  shell: Shell,
  operator: StandaloneOperator,
  flags: EraseFlags,
): Promise<void> {
  const { reason, source = '', where = '' } = flags
  // A term of another kind would be read as a filter, and refused in the words of one.
  const condition = where.startsWith('$') ? readFilter([where]).where : undefined
  if (condition === undefined || condition.equals === null) {
    shell.printError("--where must be a path and a value: --where '$.customer.id=cus_9'")
    return shell.endWith(EXIT.usage)
  }
  const { path, equals } = condition
  const result = await whileWorking(
    shell,
    () => `looking through the events of ${escapeText(source)}`,
    () => operator.eraseWhere({ path, equals }, { ...readAction(shell, flags), reason, source }),
  )
  if (flags.json === true) printJson(shell, result)
  else printWhere(shell, result)
  if (result.refused.length > 0) shell.endWith(EXIT.failed)
  else if (result.erased === 0) shell.endWith(EXIT.nothing)
}

function printWhere(shell: Shell, { erased, lookedAt, refused }: EraseWhereResult): void {
  shell.print(`${erased} erased, ${refused.length} refused, ${lookedAt} looked at.`)
  for (const { eventId, ...refusal } of refused) printRefusal(shell, eventId, refusal)
}
