/**
 * Every command there is, as one tree: what is run, what `--help` shows, and what the reference and the completions are
 * made of.
 *
 * @module
 */

import { Command, CommanderError, Help } from 'commander'
import type { Option } from 'commander'
import { HookonceError } from '../errors.ts'
import { escapeText } from '../telemetry/escape-text.ts'
import { addAudit } from './commands/audit.ts'
import { addBackfill } from './commands/backfill.ts'
import { addErase } from './commands/erase.ts'
import { addGroups } from './commands/groups.ts'
import { addLanes } from './commands/lanes.ts'
import { addMcp } from './commands/mcp.ts'
import { addMessages } from './commands/messages.ts'
import { addVerify } from './commands/verify.ts'
import { addDoctor } from './commands/doctor.ts'
import { addInit } from './commands/init.ts'
import { addCompletion } from './commands/completion.ts'
import { addOpenApi } from './commands/openapi.ts'
import { addReconcile } from './commands/reconcile.ts'
import { addMigrate } from './commands/migrate.ts'
import { addPauses } from './commands/pauses.ts'
import { addPrune } from './commands/prune.ts'
import { addSources, addSecrets } from './commands/sources.ts'
import { addStats, addWorkers } from './commands/stats.ts'
import { addTail } from './commands/tail.ts'
import { addBulk } from './commands/bulk.ts'
import { addConfig } from './commands/config.ts'
import { addDev } from './commands/dev.ts'
import { addEvents, addFailures } from './commands/events.ts'
import { addEventActions } from './commands/event-actions.ts'
import { addStart } from './commands/start.ts'
import { addToken } from './commands/token.ts'
import { addTrigger } from './commands/trigger.ts'
import { EXIT } from './exit-codes.ts'
import { wrapLines } from './output/wrap-text.ts'
import type { Shell } from './shell.ts'
import { inWordsOfFlags } from './words-of-flags.ts'
import { VERSION } from '../gateway/version.ts'

export function createProgram(shell: Shell): Command {
  const program = new Command('hookonce')
    .description('Takes webhooks in and makes each one take effect once.')
    .version(VERSION)
    .showHelpAfterError('(hookonce --help shows what there is)')
    .configureOutput({
      writeOut: (text) => shell.print(wrapLines(text.trimEnd(), shell.columns)),
      writeErr: (text) => shell.printError(text.trimEnd()),
      getOutHelpWidth: () => Math.min(shell.columns, 100),
      getErrHelpWidth: () => Math.min(shell.columns, 100),
    })
    // Commander leaves help as it is where less than 40 columns are left for it, as on a narrow terminal.
    .configureHelp({ minWidthToWrap: 20, optionDescription: describeOption })
    .addHelpText('after', EXAMPLES)
    .exitOverride()
  addDev(program)
  addStart(program)
  addTrigger(program, shell)
  addConfig(program, shell)
  for (const add of OPERATORS) add(program, shell)
  return program
}

/** A flag that can be given several times begins with none, which says nothing. */
function describeOption(option: Option): string {
  const defaultValue: unknown = option.defaultValue
  const isNone = Array.isArray(defaultValue) && defaultValue.length === 0
  return isNone ? option.description : new Help().optionDescription(option)
}

const EXAMPLES = `
Examples:
  hookonce groups                       what is wrong, most frequent first
  hookonce events show <id>             all that is known of one event
  hookonce retry <id>                   run a dead event again
  hookonce bulk retry source:stripe     the same for many
  hookonce doctor                       check that all is well`

/** In the order of `--help`: what is looked at, what is done, what is set up. */
const OPERATORS: readonly ((program: Command, shell: Shell) => void)[] = [
  addEvents,
  addTail,
  addFailures,
  addGroups,
  addStats,
  addWorkers,
  addLanes,
  addAudit,
  addEventActions,
  addBulk,
  addPauses,
  addMessages,
  addErase,
  addPrune,
  addBackfill,
  addReconcile,
  addSources,
  addSecrets,
  addVerify,
  addDoctor,
  addInit,
  addCompletion,
  addMigrate,
  addToken,
  addMcp,
  addOpenApi,
]

/** Runs what the words ask for. What goes wrong is printed, and the shell is told how it ended. */
export async function runProgram(given: Shell, words: readonly string[]): Promise<void> {
  const shell = fitting(given)
  try {
    await createProgram(shell).parseAsync(words, { from: 'user' })
  } catch (error) {
    shell.endWith(tell(shell, error))
  }
}

/** The same shell, where what is said beside the output fits the terminal: it is sentences, for people. */
function fitting(shell: Shell): Shell {
  const printError = (text: string): void => shell.printError(wrapLines(text, shell.columns))
  // Not a copy: whether a person has interrupted is listened for when it is asked.
  return Object.assign(Object.create(shell) as Shell, { printError })
}

/** A text may have a stranger's line feeds in it: what follows one must not pass for a line of ours. */
function harmlessLine(line: string, at: number): string {
  return `${at === 0 || line.startsWith(' ') ? '' : '  '}${escapeText(line)}`
}

/** What a person reads, and how the process ends. */
function tell(shell: Shell, error: unknown): number {
  // Commander has printed what it has to say; help that was asked for is no failure.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const message = inWordsOfFlags(error)
  shell.printError(`hookonce: ${message.split('\n').map(harmlessLine).join('\n')}`)
  if (!(error instanceof HookonceError)) return EXIT.failed
  if (['CONFIG_INVALID', 'OPTION_INVALID', 'SECRET_MISSING'].includes(error.code)) return EXIT.usage
  if (['SCHEMA_MISSING', 'SCHEMA_OUTDATED'].includes(error.code)) {
    shell.printError('hookonce migrate brings it up to date.')
    return EXIT.notReady
  }
  if (error.code === 'ACCESS_DENIED')
    shell.printError('--token says one, such as env:MY_TOKEN; left out, HOOKONCE_TOKEN does.')
  return error.retryable ? EXIT.notReady : EXIT.failed
}
