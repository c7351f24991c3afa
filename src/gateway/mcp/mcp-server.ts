/**
 * A server of the Model Context Protocol, for one request over HTTP or one connection over a pipe: it lists the tools
 * that the client may use, and calls them. It keeps nothing between two requests.
 *
 * @module
 */

import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server'
import { didYouMean } from '../../options/did-you-mean.ts'
import { problemOfError } from '../admin/problem.ts'
import { isEnough } from '../admin/roles.ts'
import type { Role } from '../admin/roles.ts'
import { VERSION } from '../version.ts'
import { callTool } from './call-tool.ts'
import type { ToolCall } from './call-tool.ts'
import { INSTRUCTIONS } from './instructions.ts'
import type { Tool } from './tools.ts'

/** The tools there are, and for whom they are called. */
export interface McpTerms extends ToolCall {
  readonly tools: ReadonlyMap<string, Tool>
}

export function createMcpServer({ tools, ...call }: McpTerms): McpServer {
  const mcp = new McpServer(
    { name: 'hookonce', title: 'Hookonce', version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  // Answered here and not by `registerTool`: what is listed depends on the role at that moment, and arguments are
  // refused in our words, with the nearest name.
  const { server } = mcp
  server.setRequestHandler('tools/list', async () => {
    const held = await findRole(call)
    return { tools: [...tools.values()].filter(({ role }) => isEnough(held, role)).map(list) }
  })
  server.setRequestHandler('tools/call', async ({ params }): Promise<CallToolResult> => {
    const tool = tools.get(params.name)
    if (tool === undefined) throw unknownTool(params.name, tools)
    const { text, isError } = await callTool(call, tool, params.arguments ?? {})
    return { content: [{ type: 'text', text }], isError }
  })
  return mcp
}

/** A list has no room for what went wrong: the client shows an error of the protocol to the person. */
async function findRole({ role, onError }: ToolCall): Promise<Role> {
  try {
    return await role()
  } catch (error) {
    onError(error)
    throw new ProtocolError(ProtocolErrorCode.InternalError, problemOfError(error).detail)
  }
}

function list({ name, description, inputSchema, annotations }: Tool): ListedTool {
  return { name, description, inputSchema, annotations }
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): ProtocolError {
  const said = name.slice(0, 60).replace(/[^\x20-\x7e]/g, '?')
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool "${said}"${didYouMean(name, [...tools.keys()])}`,
  )
}
