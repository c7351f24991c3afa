/**
 * The flags that every command has which reads a config.
 *
 * @module
 */

import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { loadConfig } from '../gateway/config/load-config.ts'
import type { LoadConfigOptions, LoadedConfig } from '../gateway/config/load-config.ts'

/** What commander makes of the flags. */
export interface ConfigFlags {
  readonly config?: string
  readonly store?: string
  readonly role?: readonly string[]
  readonly processes?: number
  readonly host?: string
  readonly port?: number
  readonly adminHost?: string
  readonly adminPort?: number
  readonly logLevel?: string
}

/** Where each flag goes in a config. */
const PLACES: Readonly<Record<Exclude<keyof ConfigFlags, 'config'>, readonly [string, string]>> = {
  store: ['store', '--store'],
  role: ['roles', '--role'],
  processes: ['processes', '--processes'],
  host: ['receive.host', '--host'],
  port: ['receive.port', '--port'],
  adminHost: ['admin.host', '--admin-host'],
  adminPort: ['admin.port', '--admin-port'],
  logLevel: ['log.level', '--log-level'],
}

/** Adds the flags. */
export function withConfigFlags(command: Command): Command {
  return withReceiverFlags(command)
    .option('--role <roles>', 'what this process does: receive,work,relay,admin', splitList)
    .option('--admin-host <address>', 'the address of the admin API')
    .option('--admin-port <number>', 'the port of the admin API', readPort)
    .option('--log-level <level>', 'debug, info, warn or error')
}

/** Adds those that say where a gateway receives, and what it has stored. */
export function withReceiverFlags(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      'the config file (default: hookonce.config.ts, .js or .json here)',
    )
    .option('--store <url>', 'sqlite:<file> or postgres://…')
    .option('--host <address>', 'the address on which deliveries are received')
    .option('--port <number>', 'the port on which deliveries are received', readPort)
}

/** @throws HookonceError CONFIG_INVALID */
export async function loadFromFlags(
  flags: ConfigFlags,
  {
    flags: more = new Map(),
    ...others
  }: Pick<LoadConfigOptions, 'beneath' | 'flags' | 'purpose'> = {},
): Promise<LoadedConfig> {
  const given = Object.entries(PLACES).flatMap(([name, [place, flag]]) => {
    const value = flags[name as keyof typeof PLACES]
    return value === undefined ? [] : [[place, { flag, value }] as const]
  })
  return loadConfig({
    folder: process.cwd(),
    environment: process.env,
    file: flags.config,
    ...others,
    flags: new Map([...given, ...more]),
  })
}

function splitList(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim())
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number from 0 to 65535.')
}
