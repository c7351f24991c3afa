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
  readonly gateway: Pick<Gateway, 'prepare'>
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

  const prepare = async (): Promise<string | undefined> => {
    const config = await readConfig()
    const made = gateway.prepare(config)
    if (made.status === 'refused') return made.reason
    next = { prepared: made, config }
    return undefined
  }
  const take = async (): Promise<string | undefined> => {
    if (next === undefined) return undefined
    const taken = await next.prepared.take()
    if (taken.status === 'refused') return taken.reason
    onTaken(next.config)
    return undefined
  }
  const drop = async (): Promise<undefined> => {
    await next?.prepared.drop()
    next = undefined
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
