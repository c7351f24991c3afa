/**
 * MCP over the input and output of this process, for an editor or an agent that starts a command.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createMcpServer } from './mcp-server.ts'
import type { McpTerms } from './mcp-server.ts'
import { createTools } from './tools.ts'

/** The pipes, and when to end. */
export interface StdioTerms extends Omit<McpTerms, 'tools'> {
  readonly input: Readable
  /** Nothing else may write to it. */
  readonly output: Writable
  readonly signal: AbortSignal
}

/** A replay may have a body of 8 MiB, in base64. */
const MESSAGE_BYTES_MAX = 12 * 1024 * 1024

/** Until the other side has closed the pipe, or the signal says so. */
export async function serveMcpOverStdio({
  input,
  output,
  signal,
  ...terms
}: StdioTerms): Promise<void> {
  const tools = createTools()
  const ended = new Promise<void>((resolve) => {
    for (const name of ['end', 'close', 'error']) input.once(name, () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MESSAGE_BYTES_MAX })
  const handle = serveStdio(() => createMcpServer({ tools, ...terms }), {
    transport,
    maxSubscriptions: 0,
    onerror: terms.onError,
  })
  await ended
  await handle.close()
}
