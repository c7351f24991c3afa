/**
 * The client of the official SDK, as an editor or an agent has it: over HTTP, or over the pipes of a command that it
 * starts.
 *
 * @module
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Transport, VersionNegotiationMode } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { bundleCommand } from './faults/bundle-program.ts'
import { cleanEnvironment } from './run-cli.ts'

/** The revisions that clients speak: those before 2026 begin with a handshake, the one since then has none. */
export const ERAS = ['2025', '2026'] as const
export type Era = (typeof ERAS)[number]

const MODES: Readonly<Record<Era, VersionNegotiationMode>> = {
  2025: 'legacy',
  2026: { pin: '2026-07-28' },
}

/** What a tool answered. */
export interface Called {
  readonly isError: boolean
  readonly text: string
}

export interface McpClient {
  readonly client: Client
  /** The names of the tools that are offered. */
  listNames(): Promise<readonly string[]>
  call(name: string, args?: Record<string, unknown>): Promise<Called>
  /** What stands between the marks of an answer, read as JSON. */
  read(name: string, args?: Record<string, unknown>): Promise<unknown>
}

/** On `/mcp` of an admin listener. */
export async function connectHttp(
  url: string,
  { token, era = '2026' }: { readonly token?: string; readonly era?: Era } = {},
): Promise<McpClient> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers },
  })
  return connect(transport, era)
}

/** On `hookonce mcp`, which it starts. */
export async function connectStdio(
  words: readonly string[],
  { folder, era = '2025' }: { readonly folder: string; readonly era?: Era },
): Promise<McpClient & { readonly transport: StdioClientTransport }> {
  const others = Object.entries({ ...cleanEnvironment(), HOOKONCE_ACTOR: 'ada' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bundleCommand(), 'mcp', ...words],
    cwd: folder,
    env: Object.fromEntries(
      others.filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    stderr: 'pipe',
  })
  return { ...(await connect(transport, era)), transport }
}

async function connect(transport: Transport, era: Era): Promise<McpClient> {
  const options = { versionNegotiation: { mode: MODES[era] } }
  const client = new Client({ name: 'an-editor', version: '1.0.0' }, options)
  onTestFinished(() => client.close())
  await client.connect(transport)
  const call: McpClient['call'] = async (name, args = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: args })
    const texts = content.map((block) => (block.type === 'text' ? block.text : ''))
    return { isError, text: texts.join('\n') }
  }
  return {
    client,
    listNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call,
    read: async (name, args) => readData((await call(name, args)).text),
  }
}

/** The line between the two tags. */
export function readData(text: string): unknown {
  const data = /^<data (?<mark>[0-9a-f]{16})>\n(?<json>.*)\n<\/data \k<mark>>$/m.exec(text)
    ?.groups?.['json']
  if (data === undefined) throw new Error(`There is no data in:\n${text}`)
  return JSON.parse(data)
}
