/**
 * What a gateway is told, as a user writes it: in `hookonce.config.ts`, in JSON, or in the environment.
 *
 * These types are what a config file is checked against while it is written; `schema.ts` is what it is checked
 * against when it is read, and a test holds the two together.
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'
import type { CheckMessage } from '../../index.ts'

/** What a process of a gateway does. Several processes may share the work. */
export type GatewayRole = 'receive' | 'work' | 'relay' | 'admin'

/** Everything a gateway can be told. All of it has a default. */
export interface GatewayConfig {
  /** `sqlite:<file>` or `postgres://…`. */
  readonly store?: string
  /** Encrypts bodies, headers and errors before they are stored. */
  readonly encryption?: EncryptionConfig
  /** Whether a start brings the tables up to date, or only checks that they are. */
  readonly migrate?: 'auto' | 'check'
  /** What this process does. */
  readonly roles?: readonly GatewayRole[]
  /** How many processes share the work on this machine. More than one needs PostgreSQL. */
  readonly processes?: number
  /** Where deliveries come in, and what is admitted. */
  readonly receive?: ReceiveConfig
  /** How events are made messages of their destinations. */
  readonly worker?: WorkerConfig
  /** What the handler has that writes an event's messages. */
  readonly handlerDefaults?: HandlerDefaultsConfig
  /** Where operators come in. */
  readonly admin?: AdminConfig
  /** The senders, by the last part of their URL. */
  readonly sources?: Readonly<Record<string, SourceConfig>>
  /** Where events are forwarded to, by name. */
  readonly destinations?: Readonly<Record<string, DestinationConfig>>
  /** How messages are sent, for all destinations. */
  readonly relay?: RelayConfig
  /** For how many days things are kept. */
  readonly retention?: RetentionConfig
  /** What is logged. */
  readonly log?: LogConfig
  /** Makes spans with the `@opentelemetry/api` that is installed beside the config. */
  readonly tracing?: boolean
  /** How long a process that is told to stop takes for what it has begun. */
  readonly stopGraceMs?: number
}

/** The keys with which a store encrypts. */
export interface EncryptionConfig {
  /** The first encrypts, all of them decrypt. Each `key` is 32 random bytes in base64, such as `env:HOOKONCE_KEY`. */
  readonly keys: readonly { readonly id: string; readonly key: string }[]
  /** `clear` stores what is new as it is, to switch encryption off. */
  readonly writes?: 'sealed' | 'clear'
}

/** Where deliveries come in. */
export interface ReceiveConfig {
  readonly host?: string
  readonly port?: number
  /** The largest body that is taken. */
  readonly bodyBytesMax?: number
  /** How many bytes of bodies may be on their way at once. */
  readonly inFlightBytesMax?: number
  /** The most events of one delivery. One with more is quarantined whole. */
  readonly eventsMax?: number
  /** How many deliveries may wait for the database at once. */
  readonly waitingMax?: number
  /** The most events that are stored in one transaction. */
  readonly batchMax?: number
  /** How many keys are remembered to answer duplicates without the database; 0 for none. */
  readonly rememberMax?: number
  /** How long a sender may take for a body. */
  readonly bodyTimeoutMs?: number
  /** How long a delivery may wait for the database. */
  readonly answerTimeoutMs?: number
  /** How long a delivery to a source with `acknowledge: 'processed'` waits until its messages are written. */
  readonly processedTimeoutMs?: number
  /** How long a connection without a request is kept. Longer than a proxy in front keeps it: many do for 60 s. */
  readonly keepAliveTimeoutMs?: number
  /** How long a process that is told to stop says 503 on `/readyz` and goes on as before, for a balancer that asks. */
  readonly withdrawMs?: number
}

/** How events are made messages of their destinations: `WorkerOptions` of the library. */
export interface WorkerConfig {
  /** How many groups of events are written at once, each process. */
  readonly concurrency?: number
  /** How many more are kept free for types of events that would else wait. */
  readonly reserved?: number
  /** By the name of a source, how much of the time it has against the others. */
  readonly weights?: Readonly<Record<string, number>>
  /** The most events that are written in one transaction. */
  readonly groupMax?: number
  /** How long one transaction goes on taking events. */
  readonly groupBudgetMs?: number
  /** How often to look for events when nothing calls. */
  readonly pollMs?: number
  /** How long others watch a worker's heart stand still before they take it for dead. */
  readonly deadAfterMs?: number
  /** How many times an event may take its process down with it before it is dead. */
  readonly crashesMax?: number
  /** How long a `transform` may hold the process before a watchdog ends it; 0: for ever. */
  readonly blockedMs?: number
}

/** What the handler has that writes an event's messages. */
export interface HandlerDefaultsConfig {
  /** When an event whose messages were not written runs again. */
  readonly retry?: RetryConfig
  /** How long the writing of one event's messages may take, a `transform` included. */
  readonly timeoutMs?: number
}

/** Where operators come in. */
export interface AdminConfig {
  readonly host?: string
  readonly port?: number
  /** An admin's. Needed to listen beyond this machine. */
  readonly token?: string
  /** More names that it is reached by, such as that of a proxy. */
  readonly hosts?: readonly string[]
}

/** One sender. Beside these, every option that its provider has. */
export interface SourceConfig {
  /** The name of a provider, such as `stripe` or `hmac`; in a file of code also one of your own. */
  readonly provider: string | ProviderFunction
  /** Where its events go. */
  readonly forward?: readonly (string | ForwardConfig)[]
  readonly [option: string]: unknown
}

/** A provider of your own, made by `defineProvider`. */
export type ProviderFunction = (options: never) => object

/** Which events of a source go to a destination, and what becomes of them on the way. */
export interface ForwardConfig {
  /** The name of a destination. */
  readonly to: string
  /** Types, or patterns such as `invoice.*`. Left out, all of them. */
  readonly types?: readonly string[]
  /** Values that the payload must have. All of them. */
  readonly where?: readonly PayloadTest[]
  /**
   * Where in the payload the name of a lane is: `json:$.data.customer`. Events with the same value there reach the
   * destination one at a time, in the order in which they were handled. An event without a value there waits for none.
   */
  readonly lane?: string
  /** In a file of code: what is sent instead, or `null` for nothing. Called in the transaction: no calls outside. */
  readonly transform?: (event: WebhookEvent) => Transformed | null
}

/** A value that a payload must have. */
export interface PayloadTest {
  /** Such as `$.data.object.status`. */
  readonly path: string
  readonly equals: string | number | boolean | null
}

/** What a transform makes of an event. */
export interface Transformed {
  /** Bytes and text are sent as they are, anything else as JSON. */
  readonly body: unknown
  /** More headers, or others. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Where events are forwarded to. */
export interface DestinationConfig {
  readonly url: string
  /** Signs as Standard Webhooks says. Several while one is being replaced. Needed, unless `unsigned`. */
  readonly secrets?: readonly string[]
  /** Sends without a signature: the service cannot tell its messages from those of a stranger. */
  readonly unsigned?: boolean
  /** Sent with every message. For credentials of the destination. */
  readonly headers?: Readonly<Record<string, string>>
  /** Lets the URL be plain `http:`, or an address that is not public. */
  readonly allowPrivate?: boolean
  readonly concurrency?: number
  readonly ratePerSecond?: number
  readonly timeoutMs?: number
  readonly retry?: RetryConfig
  readonly breakerFailures?: number
  readonly breakerMs?: number
  /** How long nothing may happen on the connection. */
  readonly idleTimeoutMs?: number
  /** How often in a row the same answer 500 with the same body may come before the message is dead. */
  readonly sameAnswersMax?: number
  /** `ignored` for a service that does not know a `webhook-id` again: what is sent twice happens twice there. */
  readonly keys?: 'honoured' | 'ignored'
  /** With `keys: 'ignored'`, what becomes of a message that may have arrived. */
  readonly onUncertain?: 'ask' | 'check' | 'resend'
  /** In a file of code, with `onUncertain: 'check'`: looks whether a message arrived. */
  readonly check?: CheckMessage
  /** What becomes of a lane behind a message that is dead: it waits for a person, or goes on. */
  readonly onDead?: 'block' | 'pass'
  /** For how long the service behind it remembers a `webhook-id`. */
  readonly keyLifetimeMs?: number
}

/** When a message that was not taken is sent again, and how often. */
export interface RetryConfig {
  readonly attemptsMax?: number
  readonly firstMs?: number
  readonly factor?: number
  readonly maxMs?: number
}

/** How messages are sent, for all destinations. */
export interface RelayConfig {
  /** How long a message waits after the process that was sending it was killed. Longer than every `timeoutMs`. */
  readonly leaseMs?: number
  /** How often to look for messages when nothing calls. */
  readonly pollMs?: number
}

type Days = number | 'forever'

/** For how many days things are kept, as `RetentionOptions` of the library has it. */
export interface RetentionConfig {
  readonly keysDays?: Days
  readonly doneDays?: Days
  readonly skippedDays?: Days
  readonly discardedDays?: Days
  readonly deadDays?: Days
  readonly attemptsDays?: Days
  readonly stepsDays?: Days
  readonly deliveriesDays?: Days
  readonly messagesDays?: Days
  readonly auditDays?: Days
  /** Whether this process prunes by itself, once a day for all processes together. */
  readonly daily?: boolean
}

/** What is logged. */
export interface LogConfig {
  readonly level?: 'debug' | 'info' | 'warn' | 'error'
}

/** Says what a config is, so that an editor knows it: `export default defineConfig({ … })`. Changes nothing. */
export function defineConfig(config: GatewayConfig): GatewayConfig {
  return config
}
