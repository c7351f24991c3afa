/**
 * Waits for a bulk that runs in this process, with a bar on a terminal. Ctrl-C stops it where it is: what is left is
 * done by `hookonce bulk resume`.
 *
 * @module
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { BulkEnd, BulkId, BulkRecord, StandaloneOperator } from '../index.ts'
import type { Shell } from './shell.ts'

const LOOK_EVERY_MS = 250
const BAR_COLUMNS = 24

export async function followBulk(
  shell: Shell,
  operator: StandaloneOperator,
  id: BulkId,
  ended: Promise<BulkEnd>,
): Promise<BulkEnd> {
  const { interrupted } = shell
  const onInterrupt = new Promise<BulkEnd>((resolve) => {
    const stop = (): void => resolve({ status: 'stopped' })
    if (interrupted.aborted) stop()
    else interrupted.addEventListener('abort', stop, { once: true })
  })
  const either = Promise.race([ended, onInterrupt])
  if (!shell.isInteractive) return either
  const over = new AbortController()
  const bar = showBar(shell, operator, id, over.signal)
  const end = await either
  over.abort()
  await bar
  shell.showProgress('')
  return end
}

async function showBar(
  shell: Shell,
  operator: StandaloneOperator,
  id: BulkId,
  over: AbortSignal,
): Promise<void> {
  const startedMs = performance.now()
  let leftAtStart: number | undefined
  while (!over.aborted) {
    // A look that fails is no reason to stop: the bulk itself says when it cannot go on.
    const record = await operator.bulk.find(id).catch(() => undefined)
    if (record !== undefined) {
      leftAtStart ??= record.left
      shell.showProgress(
        drawBar(record, (leftAtStart - record.left) / ((performance.now() - startedMs) / 1_000)),
      )
    }
    await wait(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined)
  }
}

/** `[=======-----] 120 of 500, 50/s, 8 s left`. */
export function drawBar(
  { planned, left }: Pick<BulkRecord, 'planned' | 'left'>,
  perSecond: number,
): string {
  const share = planned === 0 ? 1 : (planned - left) / planned
  const full = Math.round(share * BAR_COLUMNS)
  const bar = `[${'='.repeat(full)}${'-'.repeat(BAR_COLUMNS - full)}]`
  const pace =
    perSecond > 0 ? `, ${Math.round(perSecond)}/s, ${Math.ceil(left / perSecond)} s left` : ''
  return `${bar} ${planned - left} of ${planned}${pace}`
}
