/**
 * `hookonce mcp`: the operator functions as tools for a model, over the input and output of this process.
 *
 * A store has no tokens that could say what a model may do, so that a person says it: `--role`, and nothing but reading
 * without it.
 *
 * @module
 */

import { Option } from 'commander'
import type { Command } from 'commander'
import { asError } from '../../errors.ts'
import { findRemoteRole } from '../../gateway/admin/find-remote-role.ts'
import type { RemoteOperatorOptions } from '../../gateway/admin/remote-operator.ts'
import { isEnough, ROLES } from '../../gateway/admin/roles.ts'
import type { Role } from '../../gateway/admin/roles.ts'
import { escapeText } from '../../telemetry/escape-text.ts'
import { findActor, findGateway, openOperator, withPlaceFlags } from '../operator-flags.ts'
import type { OperatorFlags } from '../operator-flags.ts'
import type { Shell } from '../shell.ts'

interface McpFlags extends OperatorFlags {
  readonly role?: Role
}

export function addMcp(program: Command, shell: Shell): void {
  withPlaceFlags(program.command('mcp'))
    .description('tools for a model, for an editor or an agent that starts this command')
    .addOption(
      new Option(
        '--role <role>',
        'what the model may do at most (default: that of the token; viewer without one)',
      ).choices(ROLES),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (flags: McpFlags) => serve(shell, flags))
}

const EXAMPLES = `
It speaks the Model Context Protocol on its input and output. docs/guides/mcp.md
says how an editor starts it, and what to be careful of.

Examples:
  hookonce mcp --store sqlite:.hookonce/hookonce.db
  hookonce mcp --url https://hooks-admin.internal --token env:HOOKONCE_TOKEN
  hookonce mcp --role operator`

async function serve(shell: Shell, flags: McpFlags): Promise<void> {
  const { interrupted } = shell
  const gateway = findGateway(shell, flags)
  await using operator = await openOperator(shell, flags)
  // With the SDK, which takes 0.13 s of the processor to load, and which no other command needs.
  const { serveMcpOverStdio } = await import('../../gateway/mcp/serve-stdio.ts')
  if (process.stdin.isTTY)
    shell.printError('It waits for messages of MCP on its input. Ctrl-C ends it.')
  await serveMcpOverStdio({
    input: process.stdin,
    output: process.stdout,
    signal: interrupted,
    operator: () => operator,
    role: () => findRole(flags.role, gateway, interrupted),
    actor: `${findActor(shell)}/mcp`,
    onError: (error) => shell.printError(`hookonce: ${escapeText(asError(error).message)}`),
  })
  process.stdin.destroy()
}

/** Asked each time: a token may have been revoked since. The gateway itself refuses what goes beyond that role. */
async function findRole(
  said: Role | undefined,
  gateway: RemoteOperatorOptions | undefined,
  signal: AbortSignal,
): Promise<Role> {
  if (gateway?.token === undefined) return said ?? 'viewer'
  const held = await findRemoteRole(gateway, signal)
  return said !== undefined && isEnough(held, said) ? said : held
}
