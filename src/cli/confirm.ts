import { OptionInvalidError } from '../errors.ts'
import type { Shell } from './shell.ts'

/**
 * Whether a person wants it. Where there is no terminal to ask on, `--yes` must say so.
 *
 * @throws OptionInvalidError where it can neither be asked nor was said
 */
export async function confirm(
  shell: Shell,
  question: string,
  { yes }: { readonly yes?: boolean },
): Promise<boolean> {
  if (yes === true) return true
  if (!shell.isInteractive)
    throw new OptionInvalidError('--yes', {
      message: `${question} There is no terminal to answer on: say --yes if it is meant.`,
    })
  const answer = await shell.ask(`${question} [y/N] `)
  const isMeant = /^y(es)?$/i.test(answer.trim())
  if (!isMeant) shell.printError('Nothing was done.')
  return isMeant
}
