#!/usr/bin/env node
/**
 * `hookonce`, the command.
 *
 * @module
 */

import { Command, CommanderError } from 'commander'
import { asError, HookonceError } from '../errors.ts'
import { escapeText } from '../telemetry/escape-text.ts'
import { addConfig } from './commands/config.ts'
import { addStart } from './commands/start.ts'
import { addToken } from './commands/token.ts'
import { addTrigger } from './commands/trigger.ts'
import { EXIT } from './exit-codes.ts'
import { VERSION } from './version.ts'

const program = new Command('hookonce')
  .description('Takes webhooks in and makes each one take effect once.')
  .version(VERSION)
  .showHelpAfterError('(hookonce --help shows what there is)')
  .exitOverride()

addStart(program)
addTrigger(program)
addConfig(program)
addToken(program)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = tell(error)
}

/** What a person reads, and how the process ends. */
function tell(error: unknown): number {
  // Commander has printed what it has to say; help that was asked for is no failure.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const { message } = asError(error)
  console.error(`hookonce: ${message.split('\n').map(escapeText).join('\n')}`)
  if (!(error instanceof HookonceError)) return EXIT.failed
  if (['CONFIG_INVALID', 'OPTION_INVALID', 'SECRET_MISSING'].includes(error.code)) return EXIT.usage
  return error.retryable ? EXIT.notReady : EXIT.failed
}
