import type { ActionOptions, ActionResult, StandaloneOperator } from '../index.ts'
import { confirm } from './confirm.ts'
import { EXIT } from './exit-codes.ts'
import { readAction, withOperator, withOwnToken } from './operator-flags.ts'
import type { ActionFlags } from './operator-flags.ts'
import { printResults } from './output/print-result.ts'
import type { Acted } from './output/print-result.ts'
import type { Shell } from './shell.ts'

/** One action, on each of several subjects. */
export interface EachAction {
  readonly ids: readonly string[]
  /** What is asked before, where that cannot be undone. Left out, nothing is asked. */
  readonly question: string | undefined
  /** What is said of one that it was done to. */
  readonly did: (id: string) => string
  readonly act: (
    operator: StandaloneOperator,
    id: string,
    options: ActionOptions,
  ) => Promise<ActionResult>
}

/** Asks, acts on one after the other, and prints what became of each. */
export async function actOnEach(
  shell: Shell,
  flags: ActionFlags,
  { ids, question, did, act }: EachAction,
): Promise<void> {
  if (question !== undefined && !(await confirm(shell, question, flags)))
    return shell.endWith(EXIT.failed)
  const options = readAction(shell, flags)
  const acted = await withOperator(shell, flags, async (operator) => {
    const results: Acted[] = []
    for (const id of ids)
      results.push({ subject: id, result: await act(operator, id, withOwnToken(options, id, ids)) })
    return results
  })
  printResults(shell, acted, { json: flags.json, did })
}
