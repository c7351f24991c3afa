import type { OnceOutcome } from '../../../src/guard/index.ts'
import type { ClientKind } from '../redis/connect-redis.ts'
import type { RedisAddress } from '../redis/start-redis.ts'

export interface GuardConfig {
  readonly client: ClientKind
  readonly address: RedisAddress
  /** The key of a list in Redis that every run adds to. */
  readonly ledger: string
  readonly options: {
    readonly prefix: string
    readonly leaseMs?: number
    readonly commandTimeoutMs?: number
  }
  readonly neverMarks?: boolean
}

export type ToGuard =
  | { readonly do: 'start'; readonly config: GuardConfig }
  | {
      readonly do: 'run'
      readonly name: string
      readonly key: string
      readonly times: number
      /** Whether the work waits until it is told to finish. */
      readonly isHeld: boolean
    }
  | { readonly do: 'finish' | 'fail'; readonly name: string }

export type FromGuard =
  | { readonly said: 'loaded' | 'started' | 'marking' }
  | { readonly said: 'running'; readonly name: string }
  | {
      readonly said: 'outcome'
      readonly name: string
      readonly outcome: OnceOutcome<{ readonly by: string }>
    }
  | { readonly said: 'threw'; readonly name: string; readonly error: string }
