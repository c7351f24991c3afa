import type { Store } from '../store/contract/store.ts'

const DEBOUNCE_MS = 50

/**
 * Tells the workers of other processes that something was stored, at most every 50 ms.
 *
 * Never inside the receive transaction: NOTIFY takes a lock there that serialises all commits. What a
 * lost notification costs is one poll interval.
 */
export function createNotifier(store: Pick<Store<unknown>, 'notify'>): Notifier {
  let timer: NodeJS.Timeout | undefined
  let notifying: Promise<void> = Promise.resolve()
  return {
    notifySoon() {
      timer ??= setTimeout(() => {
        timer = undefined
        notifying = store.notify().catch(() => undefined)
      }, DEBOUNCE_MS).unref()
    },
    async stop() {
      clearTimeout(timer)
      await notifying
    },
  }
}

export interface Notifier {
  notifySoon(): void
  stop(): Promise<void>
}
