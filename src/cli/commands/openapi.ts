/**
 * `hookonce openapi`: the admin API, for the author of a client.
 *
 * @module
 */

import type { Command } from 'commander'
import { describeApi } from '../../gateway/admin/openapi.ts'
import { printJson } from '../output/print-json.ts'
import type { Shell } from '../shell.ts'

export function addOpenApi(program: Command, shell: Shell): void {
  program
    .command('openapi')
    .description('the admin API in OpenAPI 3.1')
    .addHelpText('after', '\nExamples:\n  hookonce openapi > openapi.json')
    .action(() => printJson(shell, describeApi()))
}
