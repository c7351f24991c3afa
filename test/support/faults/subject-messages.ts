/**
 * What a test and its child processes say to each other.
 *
 * @module
 */

import type { HttpDestinationOptions } from '../../../src/outbox/http-destination.ts'
import type { ClientName } from '../egress/clients.ts'
import type { RelayOptions } from '../../../src/outbox/options.ts'
import type { RetentionPolicy } from '../../../src/retention/options.ts'
import type { WorkerOptions } from '../../../src/work/options.ts'
import type { ReceiveOptions } from '../../../src/receive/options.ts'
import type { HandlerOptions, StepHandlerOptions } from '../../../src/work/handler-options.ts'
import type { OrderMode } from '../../../src/ordering/order.ts'
import type { ConnectionConfig } from '../postgres/start-postgres.ts'
import type { Boundary } from './probed-client.ts'

export type StoreConfig =
  | {
      readonly engine: 'postgres'
      readonly connection: ConnectionConfig
      readonly poolMax?: number
    }
  | { readonly engine: 'sqlite'; readonly file: string }

export interface SubjectConfig {
  readonly store: StoreConfig
  readonly receive?: ReceiveOptions
  /** For a worker process. */
  readonly worker?: WorkerOptions
  readonly handler?: Omit<HandlerOptions, 'schema'>
  /** Given, the events of `partner` have lanes, which they name in their payload, in this order. */
  readonly lanes?: OrderMode
  /** Given, there is one scripted handler for each of these instead of one for all that `partner` sends. */
  readonly handlers?: readonly {
    readonly source: 'partner' | 'rival'
    readonly types: string
    readonly options: Omit<HandlerOptions, 'schema'>
  }[]
  /** Makes the destination `sink`. */
  readonly sink?: Omit<HttpDestinationOptions, 'check' | 'resolve' | 'client'>
  /** What the destination is sent to with. Left out, Node's client. */
  readonly client?: ClientName
  /** For a process that sends. */
  readonly relay?: RelayOptions
  /** Given, there is a step handler: instead of the handler, or beside `handlers`. */
  readonly steps?: {
    /** Where its calls go. */
    readonly sink: string
    readonly options?: Omit<StepHandlerOptions, 'schema' | 'reconcile'>
    /** The types it is for; all of them where left out. */
    readonly types?: string
  }
  /** For a process that acts on many events. */
  readonly bulk?: { readonly id: string; readonly ratePerSecond: number }
  /** For a process that prunes: by this policy, however much that is. */
  readonly retention?: RetentionPolicy
  /** Whether it keeps to itself what happens in it, where too much would. */
  readonly isQuiet?: boolean
  /** How long a receiver's drain waits for what is in flight. */
  readonly graceMs?: number
}

export type ToSubject =
  | { readonly do: 'start'; readonly config: SubjectConfig }
  /** From now on watches the statements, and acts at the boundary that the trap is for. */
  | { readonly do: 'arm'; readonly trap: Trap }
  /** Go on from a point that was reached, or from the trap. */
  | { readonly do: 'go-on'; readonly point: string }
  /** As an operator's command in this process. */
  | { readonly do: 'forget'; readonly eventId: string }

export type Trap = CountedTrap | UnseenTrap

/** Acts at the n-th boundary of those that match. Which one that is must not depend on who is faster. */
export interface CountedTrap {
  /** Nothing counts before a statement with such a text has been sent. */
  readonly from?: string
  /** Of the text of a statement; every statement counts where it is left out. */
  readonly matches?: string
  readonly phase?: Boundary['phase']
  /** Which boundary, from 1. */
  readonly at: number
  /** SIGKILL to itself, or wait to be told to go on. */
  readonly then: 'kill' | 'pause'
}

/** SIGKILL to itself at the first boundary that is not in the file, after adding it there. */
export interface UnseenTrap {
  readonly then: 'kill'
  readonly diedAt: string
  /** Statements to pass by. */
  readonly except?: string
}

export type FromSubject =
  | { readonly said: 'loaded' }
  | { readonly said: 'started'; readonly port: number | undefined }
  | { readonly said: 'armed' }
  | { readonly said: 'reached'; readonly point: string }
  | { readonly said: 'happened'; readonly name: string; readonly key: string | undefined }
  | { readonly said: 'forgotten' }
  | { readonly said: 'failed'; readonly error: string }

/** The point at which a trap with `pause` waits. */
export const TRAP = 'trap'
