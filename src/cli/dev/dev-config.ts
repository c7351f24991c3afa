/**
 * The config of `hookonce dev`: what is there, and below it the sources that it keeps for itself. What its flags
 * change, they change as a config.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import type { LoadConfigOptions, LoadedConfig } from '../../gateway/config/load-config.ts'
import { addDevSource, keepForwardSecret, readDevLayer } from '../../gateway/dev-folder.ts'
import { loadFromFlags } from '../config-flags.ts'
import type { ConfigFlags } from '../config-flags.ts'

/** What commander makes of the flags. */
export interface DevFlags extends ConfigFlags {
  /** Where every source forwards to. */
  readonly forward?: string
  /** Sends itself one event ten times, first of all. */
  readonly demo?: boolean
  readonly yes?: boolean
}

/** The name of the destination of `--forward`. */
export const FORWARD = 'dev-forward'

/** The source that is there when no other is. */
export const DEMO = 'demo'

/** The config as it is now; without any source it gets one, whose secret is made here and kept. */
export async function loadDevConfig(flags: DevFlags): Promise<LoadedConfig> {
  const folder = process.cwd()
  const { config } = await loadFromFlags(flags, { beneath: readDevLayer(folder) })
  if (Object.keys(config.sources).length === 0)
    addDevSource(folder, DEMO, { provider: 'standard_webhooks', secrets: [makeSecret()] })
  return loadWithForward(flags, readDevLayer(folder))
}

/** The same with another layer of its own sources, which is not kept yet. */
export async function loadWithForward(
  flags: DevFlags,
  beneath: LoadConfigOptions['beneath'],
): Promise<LoadedConfig> {
  const loaded = await loadFromFlags(flags, { beneath })
  if (flags.forward === undefined) return loaded
  const sources = Object.keys(loaded.config.sources)
  const secret = keepForwardSecret(process.cwd(), makeSecret)
  const target = { url: flags.forward, secrets: [secret], ...FORWARD_SETTINGS }
  return loadFromFlags(flags, { beneath, flags: forwardTo(target, sources) })
}

/** In the shape in which many senders give theirs, and what Standard Webhooks asks for. */
export function makeSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`
}

/**
 * A service that is being written is away often, and back within seconds: it is asked again at short intervals, for
 * as long as a night. What has waited longer is dead, and `r` sends it again.
 */
const FORWARD_SETTINGS = {
  allowPrivate: true,
  breakerMs: 2_000,
  'retry.firstMs': 500,
  'retry.factor': 2,
  'retry.maxMs': 30_000,
  'retry.attemptsMax': 1_000,
}

function forwardTo(
  target: Readonly<Record<string, unknown>>,
  sources: readonly string[],
): NonNullable<LoadConfigOptions['flags']> {
  const places: readonly (readonly [string, unknown])[] = [
    ...Object.entries(target).map(
      ([name, value]) => [`destinations.${FORWARD}.${name}`, value] as const,
    ),
    ...sources.map((name) => [`sources.${name}.forward`, [FORWARD]] as const),
  ]
  return new Map(places.map(([place, value]) => [place, { flag: '--forward', value }]))
}
