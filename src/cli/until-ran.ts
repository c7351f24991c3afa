import { setTimeout as pause } from 'node:timers/promises'
import type { LoadedConfig } from '../gateway/config/load-config.ts'
import { openStore } from '../gateway/open-store.ts'
import { createOperator, SETTLED_STATES } from '../index.ts'
import type { EventState, Operator } from '../index.ts'

const LOOK_EVERY_MS = 50
const GIVE_UP_MS = 10_000

/** How often the handlers of these events have run, once all of them have ended; or what it is after ten seconds. */
export async function untilRan(
  operator: Pick<Operator, 'findEvent'>,
  events: readonly string[],
): Promise<number | undefined> {
  if (events.length === 0) return undefined
  const giveUpAt = performance.now() + GIVE_UP_MS
  for (;;) {
    const found = await Promise.all(events.map((id) => operator.findEvent(id)))
    const isOver = found.every((event) => event === undefined || hasEnded(event.state))
    if (isOver || performance.now() > giveUpAt)
      return found.reduce((sum, event) => sum + (event?.attempts ?? 0) + (event?.crashes ?? 0), 0)
    await pause(LOOK_EVERY_MS)
  }
}

/** The same, of a gateway that is another process. */
export async function untilRanIn(
  { config }: LoadedConfig,
  events: readonly string[],
): Promise<number | undefined> {
  if (events.length === 0) return undefined
  const { store, close } = openStore(config.store, process.cwd())
  const operator = createOperator({ store })
  try {
    return await untilRan(operator, events)
  } finally {
    await operator.close()
    await close()
  }
}

function hasEnded(state: EventState): boolean {
  return (SETTLED_STATES as readonly string[]).includes(state)
}
