/**
 * An inbox as a config describes it.
 *
 * @module
 */

import { createInbox } from '../index.ts'
import type { Inbox, Logger, SourceMap } from '../index.ts'
import { buildDestination } from './build-destination.ts'
import { buildSources } from './build-sources.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { findTracing } from './find-tracing.ts'
import { forwardEvents } from './forward.ts'
import { openStore } from './open-store.ts'
import type { Store } from '../store/contract/store.ts'

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
 * @throws HookonceError CONFIG_INVALID; OptionInvalidError
 */
export function buildInbox(
  config: ResolvedConfig,
  { folder, logger, prepare }: BuildTerms,
): BuiltInbox {
  const sources = buildSources(config)
  const destinations = Object.entries(config.destinations).map(([name, given]) =>
    buildDestination(name, given),
  )
  const { reserved, ...ofWorker } = config.worker
  const worker = { ...ofWorker, ...(reserved !== undefined && { reserved }) }
  const { store, place, close } = openStore(config.store, folder, {
    migrate: config.migrate,
    ...worker,
    encryption: config.encryption,
  })
  const { roles, stopGraceMs } = config
  // Of the listener, and not of the inbox.
  const {
    host: _host,
    port: _port,
    keepAliveTimeoutMs: _kept,
    withdrawMs: _told,
    ...receive
  } = config.receive
  const inbox: Inbox<SourceMap, unknown> = createInbox({
    store,
    sources,
    destinations,
    receive,
    handlerDefaults: config.handlerDefaults,
    worker: roles.includes('work') ? { ...worker, stopGraceMs } : false,
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
