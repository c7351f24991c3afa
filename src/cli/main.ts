#!/usr/bin/env node
/**
 * `hookonce`, the command.
 *
 * @module
 */

import { runProgram } from './program.ts'
import { endWithReader, processShell } from './shell.ts'

endWithReader()
await runProgram(processShell(), process.argv.slice(2))
