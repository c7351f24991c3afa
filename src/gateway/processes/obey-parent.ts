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
import type { Order, Report } from './orders.ts'

/** What a child does its parent's orders with. */
export interface ChildTerms {
  readonly gateway: Pick<Gateway, 'prepare'>
  readonly readConfig: () => Promise<ResolvedConfig>
}

/** Listens to the parent from now on. */
export function obeyParent({ gateway, readConfig }: ChildTerms): void {
  let prepared: Extract<Prepared, { status: 'prepared' }> | undefined

  const prepare = async (): Promise<string | undefined> => {
    const made = gateway.prepare(await readConfig())
    if (made.status === 'refused') return made.reason
    prepared = made
    return undefined
  }
  const take = async (): Promise<string | undefined> => {
    const taken = await prepared?.take()
    return taken?.status === 'refused' ? taken.reason : undefined
  }
  const drop = async (): Promise<undefined> => {
    await prepared?.drop()
    prepared = undefined
  }

  process.on('message', ({ order, number }: Order) => {
    const work = { prepare, take, drop }[order]
    void work()
      .catch((error: unknown) => asError(error).message)
      .then((refusal) => report({ report: 'answer', number, refusal }))
  })
  report({ report: 'listening' })
}

/** Tells the parent. */
export function report(message: Report): void {
  // A parent that has just ended does not hear it, and ends this process as well.
  if (process.connected) process.send?.(message, () => undefined)
}
