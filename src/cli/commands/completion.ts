/**
 * `hookonce completion`: what a shell offers after `hookonce`.
 *
 * @module
 */

import { Argument } from 'commander'
import type { Command } from 'commander'
import { SHELLS, writeCompletion } from '../completion.ts'
import type { Shell } from '../shell.ts'

export function addCompletion(program: Command, shell: Shell): void {
  program
    .command('completion')
    .description('a script that lets your shell complete commands and flags')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(hookonce completion bash)\n  hookonce completion fish > ~/.config/fish/completions/hookonce.fish',
    )
    .action((name: (typeof SHELLS)[number]) => shell.print(writeCompletion(program, name)))
}
