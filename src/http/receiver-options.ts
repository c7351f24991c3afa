import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'

/** How a receiver listens. Sizes and times of bodies are the inbox's own (`receive.bodyBytesMax`, `receive.bodyTimeoutMs`). */
export interface ReceiverOptions {
  /**
   * What stands before a source's name in the path.
   *
   * @defaultValue '/in/'
   */
  readonly path?: string
  /**
   * How long a sender may take to send its headers before its socket is closed.
   *
   * @defaultValue 10_000
   */
  readonly headersTimeoutMs?: number
  /**
   * How long an idle connection is kept for the next request. Behind a load balancer that keeps
   * connections, set it longer than the balancer does, or now and then a request meets a closing socket.
   *
   * @defaultValue 5_000
   */
  readonly keepAliveTimeoutMs?: number
  /**
   * The most bytes of headers. Past it the answer is 431.
   *
   * @defaultValue 16_384
   */
  readonly headerBytesMax?: number
  /**
   * The most open connections. Past it new ones are closed at once.
   *
   * @defaultValue 4_096
   */
  readonly connectionsMax?: number
}

export type ResolvedReceiverOptions = Readonly<Required<ReceiverOptions>>

const RECEIVER_DEFAULTS: ResolvedReceiverOptions = Object.freeze({
  path: '/in/',
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 5_000,
  headerBytesMax: 16_384,
  connectionsMax: 4_096,
})

export function resolveReceiverOptions(options: ReceiverOptions): ResolvedReceiverOptions {
  rejectUnknownKeys('receiver', options, Object.keys(RECEIVER_DEFAULTS))
  const resolved = Object.freeze({ ...RECEIVER_DEFAULTS, ...options })
  requirePath('receiver.path', resolved.path)
  requireInteger('receiver.headersTimeoutMs', resolved.headersTimeoutMs, { min: 1, max: HOUR_MS })
  requireInteger('receiver.keepAliveTimeoutMs', resolved.keepAliveTimeoutMs, {
    min: 1,
    max: HOUR_MS,
  })
  requireInteger('receiver.headerBytesMax', resolved.headerBytesMax, { min: 1_024, max: 1_048_576 })
  requireInteger('receiver.connectionsMax', resolved.connectionsMax, { min: 1 })
  return resolved
}

/** Where a receiver listens. */
export interface ListenOptions {
  /**
   * The port; 0 lets the system choose.
   *
   * @defaultValue 0
   */
  readonly port?: number
  /**
   * The address to bind.
   *
   * @defaultValue '127.0.0.1'
   */
  readonly host?: string
}

/** How long a receiver takes to stop. */
export interface DrainOptions {
  /**
   * How long requests in flight may take to finish before they are answered 503.
   *
   * @defaultValue 10_000
   */
  readonly graceMs?: number
  /**
   * How long connections without a request are kept for the one that their client may be sending. It is taken, and its
   * answer closes the connection. Behind a proxy that keeps connections, give it a second or more: a proxy cannot send
   * again what met a closed socket. It counts towards `graceMs`.
   *
   * @defaultValue 0
   */
  readonly idleMs?: number
}

function requirePath(option: string, value: unknown): void {
  if (typeof value === 'string' && /^\/(?:[\w.~-]+\/)*$/.test(value)) return
  throw new OptionInvalidError(option, 'a path that begins and ends with a slash', value)
}
