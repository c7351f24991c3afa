/**
 * A gateway: an inbox as a config describes it, behind a listener for senders and another one for operators.
 *
 *     start:   listen ─▶ open the store, as often as it takes ─▶ ready
 *     reload:  prepare: build a second inbox ─▶ take: start it ─▶ deliveries go there ─▶ stop the first
 *     stop:    not ready ─▶ let a balancer notice ─▶ answer what is in flight ─▶ stop the inbox
 *
 * What it promises:
 *
 * - Without its database it listens all the same, answers 503, and goes on by itself when the database is back.
 * - A config that cannot be used changes nothing: not at start, where nothing has begun, and not at a reload.
 * - A reload drops no request.
 * - It stops in a time that the config bounds, whatever its database does: what would wait longer ends with the process.
 *
 * @module
 */

import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { asError, HookonceError } from '../errors.ts'
import { atMost, GOODBYE_MS, INTERRUPTED_MS } from '../flow/at-most.ts'
import { createReceiver } from '../http/node.ts'
import { readinessOf } from '../http/readiness.ts'
import type { Receiver } from '../http/receiver.ts'
import type { Inbox, SourceMap } from '../index.ts'
import type { Counted } from '../metrics/counted.ts'
import { InboxMetrics } from '../metrics/inbox-metrics.ts'
import { buildAdmin } from './admin/build-admin.ts'
import type { BuiltAdmin } from './admin/build-admin.ts'
import type { Role } from './admin/roles.ts'
import { buildInbox } from './build-inbox.ts'
import type { BuildTerms, BuiltInbox } from './build-inbox.ts'
import type { ResolvedConfig } from './config/schema.ts'
import { CurrentInbox } from './current-inbox.ts'
import type { AnswerWatch } from './current-inbox.ts'
import { findRefusal } from './find-refusal.ts'

/** What a gateway is made of. */
export interface GatewayOptions extends BuildTerms {
  readonly config: ResolvedConfig
  /** Sees what is answered to whom. Left out, none does. */
  readonly watch?: AnswerWatch
  /**
   * Whether this process has the admin listener, where it has the role. Of several that share a port one has.
   *
   * @defaultValue true
   */
  readonly hasAdmin?: boolean
  /** What the processes beside this one have counted, with what this one has. Left out, it is alone. */
  readonly collectCounts?: () => Promise<Counted>
  /**
   * What a model may do over MCP on this machine without a token. With one, its role counts.
   *
   * @defaultValue 'viewer'
   */
  readonly mcpRoleWithoutToken?: Role
}

/** What became of a reload. */
export type Reloaded =
  { readonly status: 'reloaded' } | { readonly status: 'refused'; readonly reason: string }

/** A config that could be used, and waits for a word. */
export type Prepared =
  | {
      readonly status: 'prepared'
      /** Takes it over, or says why that failed; then the one before it stays. */
      readonly take: () => Promise<Reloaded>
      /** Forgets it. */
      readonly drop: () => Promise<void>
    }
  | Extract<Reloaded, { readonly status: 'refused' }>

/** How long to wait before the database is tried again. */
const AGAIN_MS = 1_000

/**
 * How long a gateway that stops keeps connections without a request. Under load a proxy sends on each of them within
 * that time, and the answer closes it; one that stays idle for so long is hardly used at the moment in which it is closed.
 */
const IDLE_MS = 1_000

/** How long a gateway that stops may take beside its grace periods: as long as its inbox alone. */
const LAST_MS = INTERRUPTED_MS + 2 * GOODBYE_MS

/** A gateway that listens. Made by `startGateway`. */
export class Gateway {
  readonly #options: GatewayOptions
  readonly #current: CurrentInbox
  readonly #receiver: Receiver | undefined
  readonly #admin: BuiltAdmin | undefined
  /** Where this process has the role, or another one asks what it counts. */
  readonly #metrics: InboxMetrics | undefined
  readonly #ending = new AbortController()
  #config: ResolvedConfig
  #built: BuiltInbox
  #reloading: Promise<unknown> = Promise.resolve()
  /** The inboxes that were replaced, until they have stopped. */
  #leaving: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | undefined

  /** @internal */
  constructor(options: GatewayOptions) {
    this.#options = options
    this.#config = options.config
    this.#built = buildInbox(options.config, options)
    this.#current = new CurrentInbox(this.#built.inbox, options.watch)
    this.#receiver = options.config.roles.includes('receive')
      ? createReceiver(this.#current, {
          keepAliveTimeoutMs: options.config.receive.keepAliveTimeoutMs,
        })
      : undefined
    const metrics = options.config.roles.includes('admin') ? new InboxMetrics() : undefined
    this.#metrics = metrics
    this.#admin =
      metrics !== undefined && options.hasAdmin !== false
        ? buildAdmin(options.config, {
            built: () => this.#built,
            readiness: () =>
              readinessOf({
                isReady: !this.#ending.signal.aborted && this.#current.isReady(),
                clockSkewMs: this.#current.clockSkewMs,
              }),
            metrics: {
              contentType: metrics.contentType,
              render: async () => metrics.render(await options.collectCounts?.()),
            },
            logger: options.logger,
            mcpRoleWithoutToken: options.mcpRoleWithoutToken ?? 'viewer',
          })
        : undefined
    this.#watch(this.#built.inbox)
  }

  #watch(inbox: BuiltInbox['inbox']): void {
    this.#admin?.live.watch(inbox.events)
    this.#metrics?.watch(inbox)
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

  /** What it has counted so far, for `/metrics` of another process. */
  count(): Counted {
    return this.#metrics?.count() ?? {}
  }

  /** Whether it was told to stop. */
  get isEnding(): boolean {
    return this.#ending.signal.aborted
  }

  /** @internal */
  async listen(): Promise<void> {
    const { host, port } = this.#config.receive
    await this.#receiver?.listen({ host, port })
    await this.#admin?.server.listen()
  }

  /**
   * Until the store was opened and everything runs, or until it was told to stop before that: then `false`. A database
   * that does not answer is tried again and again; what trying again cannot help is thrown.
   */
  async untilStarted(): Promise<boolean> {
    let isTold = false
    const built = this.#built
    while (!this.#ending.signal.aborted) {
      try {
        await built.inbox.start().catch((error: unknown) => {
          // One that was replaced meanwhile is stopped, and the inbox of the reload has opened the store.
          if (built === this.#built) throw error
        })
        if (isTold)
          this.#options.logger.info(
            { store: this.place },
            'the store is open: deliveries are taken',
          )
        return true
      } catch (error) {
        if (!(error instanceof HookonceError) || !error.retryable) throw error
        if (!isTold) this.#tellUnavailable(error)
        isTold = true
        await pause(AGAIN_MS, undefined, { signal: this.#ending.signal }).catch(() => undefined)
      }
    }
    return false
  }

  #tellUnavailable(error: Error): void {
    const fields = { store: this.place, error: error.message }
    const message = 'the store cannot be opened: deliveries are answered 503 until it can'
    this.#options.logger.error(fields, message)
  }

  /** Takes over another config, unless it cannot be used or needs a new process. Until it is in use. */
  async reload(config: ResolvedConfig): Promise<Reloaded> {
    const prepared = this.prepare(config)
    return prepared.status === 'refused' ? prepared : prepared.take()
  }

  /** Builds what another config describes. Nothing is connected to, and nothing is changed, before it is taken. */
  prepare(config: ResolvedConfig): Prepared {
    const reason = findRefusal(this.#config, config)
    if (reason !== undefined) return { status: 'refused', reason }
    try {
      this.#requireGoingOn()
      const next = buildInbox(config, this.#options)
      return {
        status: 'prepared',
        take: () => this.#take(next, config),
        drop: () => next.stop(),
      }
    } catch (error) {
      return { status: 'refused', reason: asError(error).message }
    }
  }

  /** One after the other. */
  #take(next: BuiltInbox, config: ResolvedConfig): Promise<Reloaded> {
    const taken = this.#reloading.then(() => this.#replaceBy(next, config))
    this.#reloading = taken.catch(() => undefined)
    return taken
  }

  async #replaceBy(next: BuiltInbox, config: ResolvedConfig): Promise<Reloaded> {
    try {
      this.#requireGoingOn()
      await next.inbox.start()
    } catch (error) {
      await next.stop()
      return { status: 'refused', reason: asError(error).message }
    }
    const before = this.#built
    this.#built = next
    this.#config = config
    this.#current.replaceBy(next.inbox)
    this.#watch(next.inbox)
    // Not waited for: until its last handler and message have ended is longer than a parent waits for an answer.
    const left = this.#inTime(before.stop()).catch((error: unknown) => {
      const fields = { error: asError(error).message }
      this.#options.logger.error(fields, 'the inbox before the reload did not stop')
    })
    this.#leaving = Promise.all([this.#leaving, left])
    return { status: 'reloaded' }
  }

  /** What a gateway begins while it stops, nothing would stop. */
  #requireGoingOn(): void {
    if (this.isEnding) throw new Error('the gateway is stopping')
  }

  /** Every call waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#ending.abort()
    await this.#withdraw()
    await this.#inTime(this.#stopParts())
  }

  /**
   * One bound for all parts. One after the other each has its own, a pool waits for its connections on top of that, and a
   * reload for the inbox before it; the platform kills a process that takes longer than it waits. Twice the grace period:
   * a worker and then a relay may need it.
   */
  #inTime(work: Promise<void>): Promise<void> {
    return atMost(2 * this.#config.stopGraceMs + LAST_MS, work)
  }

  async #stopParts(): Promise<void> {
    const graceMs = this.#config.stopGraceMs
    this.#admin?.live.stop()
    const receiverStopped = this.#receiver?.drain({ graceMs, idleMs: IDLE_MS })
    await Promise.all([receiverStopped, this.#admin?.server.stop(graceMs)])
    await this.#reloading
    await Promise.all([this.#leaving, this.#built.stop()])
  }

  /** No balancer waits for a process that receives nothing, or that could not listen. */
  async #withdraw(): Promise<void> {
    if (this.address === undefined) return
    this.#receiver?.withdraw()
    await pause(this.#config.receive.withdrawMs)
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
