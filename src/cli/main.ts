#!/usr/bin/env node
/**
 * `hookonce`, the command.
 *
 * @module
 */

import { runProgram } from './program.ts'
import { processShell } from './shell.ts'

await runProgram(processShell(), process.argv.slice(2))
