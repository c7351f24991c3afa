/**
 * An inbox as a config describes it.
 *
 * @module
 */

import { createInbox } from '../index.ts'
import type { Destination, Inbox, Logger, SourceMap } from '../index.ts'
import { httpDestination } from '../index.ts'
import { buildSources } from './build-sources.ts'
import type { ResolvedConfig, ResolvedDestinationConfig } from './config/schema.ts'
import { findTracing } from './find-tracing.ts'
import { forwardEvents } from './forward.ts'
import { openStore } from './open-store.ts'
import type { Store } from '../store/contract/store.ts'
import { undiciClient } from './undici-client.ts'

/** An inbox, its store, and how both are stopped. */
export interface BuiltInbox {
  readonly inbox: Inbox<SourceMap, unknown>
  readonly store: Store<unknown, unknown>
  /** Where its store is, without a password. */
  readonly place: string
  stop(): Promise<void>
}

/** What an inbox is built from, beside the config. */
export interface BuildTerms {
  /** What relative paths begin at. */
  readonly folder: string
  readonly logger: Logger
  /** Called with each inbox before it starts, for more handlers and for listeners. Left out, there are none. */
  readonly prepare?: (inbox: Inbox<SourceMap, unknown>, config: ResolvedConfig) => void
}

/**
 * Nothing is connected to yet.
 *
 * @throws HookonceError CONFIG_INVALID; OptionInvalidError; DestinationBlockedError
 */
export function buildInbox(
  config: ResolvedConfig,
  { folder, logger, prepare }: BuildTerms,
): BuiltInbox {
  const sources = buildSources(config)
  const destinations = Object.entries(config.destinations).map(buildDestination)
  const { store, place, close } = openStore(config.store, folder)
  const { roles, stopGraceMs } = config
  const inbox: Inbox<SourceMap, unknown> = createInbox({
    store,
    sources,
    destinations,
    receive: { bodyBytesMax: config.receive.bodyBytesMax },
    worker: roles.includes('work') ? { stopGraceMs } : false,
    relay: roles.includes('relay') ? { ...config.relay, stopGraceMs } : false,
    retention: config.retention,
    logger,
    ...(config.tracing && { tracing: findTracing(folder) }),
  })
  forwardEvents(inbox, config)
  prepare?.(inbox, config)
  return {
    inbox,
    store,
    place,
    stop: async () => {
      await inbox.stop()
      await close()
    },
  }
}

function buildDestination([name, given]: [string, ResolvedDestinationConfig]): Destination {
  const { allowPrivate, url, secrets = [], headers = {}, ...options } = given
  return httpDestination(name, {
    url,
    secrets,
    headers,
    ...options,
    client: undiciClient,
    ...(allowPrivate && URL.canParse(url) && { allow: [new URL(url).hostname] }),
  })
}
