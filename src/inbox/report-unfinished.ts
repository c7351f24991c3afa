import { collectUnfinished } from '../admin/collect-unfinished.ts'
import { asError } from '../errors.ts'
import type { Unfinished } from '../model/unfinished.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

/**
 * Tells at the start what earlier processes have left, where they have left anything. Never rejects: a process that
 * cannot look may still receive and work.
 */
export async function reportUnfinished(
  store: Store<unknown>,
  happenings: HappeningEmitter,
): Promise<void> {
  try {
    const found = count(await collectUnfinished(store))
    const isAnything = Object.values(found).some((one) => one > 0)
    if (isAnything) happenings.emit('inbox.found-at-start', found)
  } catch (error) {
    const warning = `What earlier processes have left could not be looked up: ${asError(error).message}`
    happenings.emit('store.warning', { warning })
  }
}

function count({ leftRunning, messages, lanes }: Unfinished) {
  const messagesIn = (state: 'uncertain' | 'unknown') =>
    sum(messages.filter((one) => one.state === state).map((one) => one.count))
  return {
    leftRunning: sum(leftRunning.map(({ events }) => events)),
    uncertainMessages: messagesIn('uncertain'),
    unknownMessages: messagesIn('unknown'),
    blockedLanes: lanes.blocked.count,
    gaps: lanes.gaps.count,
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
