/**
 * A gateway: an inbox as a config describes it, behind a listener for senders and another one for operators.
 *
 *     start:   listen ─▶ open the store, as often as it takes ─▶ ready
 *     reload:  build a second inbox ─▶ start it ─▶ deliveries go there ─▶ stop the first
 *     stop:    not ready ─▶ answer what is in flight ─▶ stop the inbox
 *
 * What it promises:
 *
 * - Without its database it listens all the same, answers 503, and goes on by itself when the database is back.
 * - A config that cannot be used changes nothing: not at start, where nothing has begun, and not at a reload.
 * - A reload drops no request.
 *
 * @module
 */

import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { asError, HookonceError } from '../errors.ts'
import { createReceiver } from '../http/node.ts'
import type { Receiver } from '../http/receiver.ts'
import type { Inbox, Logger, SourceMap } from '../index.ts'
import { buildAdmin } from './admin/build-admin.ts'
import type { BuiltAdmin } from './admin/build-admin.ts'
import { buildInbox } from './build-inbox.ts'
import type { BuiltInbox } from './build-inbox.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { CurrentInbox } from './current-inbox.ts'

/** What a gateway is made of. */
export interface GatewayOptions {
  readonly config: ResolvedConfig
  /** What relative paths begin at. */
  readonly folder: string
  readonly logger: Logger
}

/** What became of a reload. */
export type Reloaded =
  { readonly status: 'reloaded' } | { readonly status: 'refused'; readonly reason: string }

/** How long to wait before the database is tried again. */
const AGAIN_MS = 1_000

/** A gateway that listens. Made by `startGateway`. */
export class Gateway {
  readonly #options: GatewayOptions
  readonly #current: CurrentInbox
  readonly #receiver: Receiver | undefined
  readonly #admin: BuiltAdmin | undefined
  readonly #ending = new AbortController()
  #config: ResolvedConfig
  #built: BuiltInbox
  #reloading: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | undefined

  /** @internal */
  constructor(options: GatewayOptions) {
    this.#options = options
    this.#config = options.config
    this.#built = buildInbox(options.config, options)
    this.#current = new CurrentInbox(this.#built.inbox)
    this.#receiver = options.config.roles.includes('receive')
      ? createReceiver(this.#current)
      : undefined
    this.#admin = options.config.roles.includes('admin')
      ? buildAdmin(options.config, { built: () => this.#built, logger: options.logger })
      : undefined
    this.#admin?.live.watch(this.#built.inbox.events)
  }

  /** The inbox that is in use now. */
  get inbox(): Inbox<SourceMap, unknown> {
    return this.#built.inbox
  }

  /** Where its store is, without a password. */
  get place(): string {
    return this.#built.place
  }

  /** Where deliveries come in; `undefined` in a process that does not receive. */
  get address(): AddressInfo | undefined {
    return (this.#receiver?.server.address() ?? undefined) as AddressInfo | undefined
  }

  /** Where operators come in; `undefined` in a process without the role. */
  get adminAddress(): AddressInfo | undefined {
    return this.#admin?.server.address
  }

  /** @internal */
  async listen(): Promise<void> {
    const { host, port } = this.#config.receive
    await this.#receiver?.listen({ host, port })
    await this.#admin?.server.listen()
  }

  /**
   * Until the store was opened and everything runs. A database that does not answer is tried again and again; what
   * trying again cannot help is thrown.
   */
  async untilStarted(): Promise<void> {
    let isTold = false
    while (!this.#ending.signal.aborted) {
      try {
        await this.#built.inbox.start()
        return
      } catch (error) {
        if (!(error instanceof HookonceError) || !error.retryable) throw error
        if (!isTold) this.#tellUnavailable(error)
        isTold = true
        await pause(AGAIN_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined)
      }
    }
  }

  #tellUnavailable(error: Error): void {
    const fields = { store: this.place, error: error.message }
    const message = 'the store cannot be opened: deliveries are answered 503 until it can'
    this.#options.logger.error(fields, message)
  }

  /** Takes over another config, unless it cannot be used or needs a new process. One after the other. */
  async reload(config: ResolvedConfig): Promise<Reloaded> {
    const reloaded = this.#reloading.then(() => this.#reload(config))
    this.#reloading = reloaded.catch(() => undefined)
    return reloaded
  }

  async #reload(config: ResolvedConfig): Promise<Reloaded> {
    const fixed = findFixed(this.#config, config)
    if (fixed.length > 0)
      return { status: 'refused', reason: `${fixed.join(', ')} cannot be changed while it runs` }
    let next: BuiltInbox | undefined
    try {
      next = buildInbox(config, this.#options)
      await next.inbox.start()
    } catch (error) {
      await next?.stop()
      return { status: 'refused', reason: asError(error).message }
    }
    const before = this.#built
    this.#built = next
    this.#config = config
    this.#current.replaceBy(next.inbox)
    this.#admin?.live.watch(next.inbox.events)
    await before.stop()
    return { status: 'reloaded' }
  }

  /** Every call waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#ending.abort()
    const graceMs = this.#config.stopGraceMs
    this.#admin?.live.stop()
    await Promise.all([this.#receiver?.drain({ graceMs }), this.#admin?.server.stop(graceMs)])
    await this.#reloading
    await this.#built.stop()
  }
}

/**
 * A gateway that listens, and opens its store when it can: `untilStarted` waits for that.
 *
 * @throws HookonceError CONFIG_INVALID; OptionInvalidError; Node's error when it cannot listen
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const gateway = new Gateway(options)
  try {
    await gateway.listen()
  } catch (error) {
    await gateway.stop()
    throw error
  }
  return gateway
}

/** What is bound when the process starts. */
function findFixed(before: ResolvedConfig, after: ResolvedConfig): readonly string[] {
  const parts = {
    store: (config: ResolvedConfig) => config.store,
    roles: (config: ResolvedConfig) => config.roles.toSorted(),
    'receive.host': (config: ResolvedConfig) => config.receive.host,
    'receive.port': (config: ResolvedConfig) => config.receive.port,
    admin: (config: ResolvedConfig) => config.admin,
  }
  return Object.entries(parts)
    .filter(([, read]) => JSON.stringify(read(before)) !== JSON.stringify(read(after)))
    .map(([name]) => name)
}
