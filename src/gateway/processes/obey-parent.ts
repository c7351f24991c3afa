/**
 * The child's side: does what its parent says.
 *
 * When the parent is gone Node ends the child, which is as safe as a crash: no child is left behind that no signal
 * would reach.
 *
 * @module
 */

import { asError } from '../../errors.ts'
import type { ResolvedConfig } from '../config/schema.ts'
import type { Gateway, Prepared } from '../gateway.ts'
import type { Collected, Order, Report } from './orders.ts'

/** What a child does its parent's orders with. */
export interface ChildTerms {
  readonly gateway: Pick<Gateway, 'prepare' | 'isEnding'>
  readonly readConfig: () => Promise<ResolvedConfig>
  /** Called when another config was taken over. */
  readonly onTaken: (config: ResolvedConfig) => void
  /** Tells the parent what this process has counted. */
  readonly tellCounts: () => Promise<void>
}

/** A config that waits for the parent's word. */
interface Next {
  readonly prepared: Extract<Prepared, { status: 'prepared' }>
  readonly config: ResolvedConfig
}

/** Listens to the parent from now on. */
export function obeyParent({ gateway, readConfig, onTaken, tellCounts }: ChildTerms): void {
  let next: Next | undefined
  /** How often something was dropped. */
  let drops = 0
  /** One that ends refuses nothing: another process takes its place, and begins with the config as it is. */
  const unlessEnding = (reason: string) => (gateway.isEnding ? undefined : reason)

  const drop = async (): Promise<undefined> => {
    const dropping = next
    next = undefined
    drops += 1
    await dropping?.prepared.drop()
  }
  const prepare = async (): Promise<string | undefined> => {
    const dropped = drop()
    const before = drops
    await dropped
    const config = await readConfig()
    // The parent does not wait for ever: it has dropped this one meanwhile, or has asked for another one.
    if (drops !== before) return 'it was dropped before it was read'
    const made = gateway.prepare(config)
    if (made.status === 'refused') return unlessEnding(made.reason)
    next = { prepared: made, config }
    return undefined
  }
  const take = async (): Promise<string | undefined> => {
    const taking = next
    // From here on it is in use, and a config that is refused later must not drop it.
    next = undefined
    if (taking === undefined) return undefined
    const taken = await taking.prepared.take()
    if (taken.status === 'refused') return unlessEnding(taken.reason)
    onTaken(taking.config)
    return undefined
  }

  const count = async (): Promise<undefined> => {
    await tellCounts()
    return undefined
  }

  process.on('message', (message: Order | Collected) => {
    if ('collected' in message) return
    const { order, number } = message
    const work = { prepare, take, drop, count }[order]
    void work()
      .catch((error: unknown) => asError(error).message)
      .then((refusal) => report({ report: 'answer', number, refusal }))
  })
  void report({ report: 'listening' })
}

/** Tells the parent. Until it is on its way, or cannot be. */
export function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    // A parent that has just ended does not hear it, and ends this process as well.
    if (process.connected) process.send?.(message, () => resolve())
    else resolve()
  })
}
