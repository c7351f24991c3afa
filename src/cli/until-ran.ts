import { setTimeout as pause } from 'node:timers/promises'
import type { LoadedConfig } from '../gateway/config/load-config.ts'
import { createRemoteOperator } from '../gateway/admin/remote-operator.ts'
import type { RemoteOperatorOptions } from '../gateway/admin/remote-operator.ts'
import { openStore } from '../gateway/open-store.ts'
import { createOperator } from '../index.ts'
import type { EventRecord, EventState, Operator } from '../index.ts'

const LOOK_EVERY_MS = 50
const GIVE_UP_MS = 10_000

/** What became of events that were sent. */
export interface Ran {
  /** How often their handlers have run. */
  readonly runs: number
  /** By the ids of those that are not done: their state, and why. */
  readonly notDone: ReadonlyMap<string, string>
}

/** Which events: those that the answers have named, or else what the sender calls it. */
export interface AskedEvents {
  readonly source: string
  readonly key: string | undefined
  readonly events: readonly string[]
}

/** Once nothing of them goes on by itself; or how it is after ten seconds. `undefined` where none of them is there. */
export async function untilRan(
  operator: Pick<Operator, 'findEvent'>,
  events: readonly string[],
): Promise<Ran | undefined> {
  const giveUpAt = performance.now() + GIVE_UP_MS
  for (;;) {
    const all = await Promise.all(events.map((id) => operator.findEvent(id)))
    const found = all.filter((event) => event !== undefined)
    if (found.length === 0) return undefined
    const isOver = found.every(({ state }) => !UNDER_WAY.includes(state))
    if (isOver || performance.now() > giveUpAt)
      return {
        runs: found.reduce((sum, { attempts, crashes }) => sum + attempts + crashes, 0),
        notDone: new Map(found.flatMap(describe)),
      }
    await pause(LOOK_EVERY_MS)
  }
}

/** The same, in the store of a gateway or an inbox that is another process. */
export async function untilRanIn(
  { config }: LoadedConfig,
  asked: AskedEvents,
): Promise<Ran | undefined> {
  const { store, close } = openStore(config.store, process.cwd(), {
    // It looks at what is there: to make tables, or to change those of another release, is not its business.
    migrate: 'check',
    encryption: config.encryption,
  })
  const operator = createOperator({ store })
  try {
    return await untilAskedRan(operator, asked)
  } finally {
    await operator.close()
    await close()
  }
}

/** The same, by the admin listener of a gateway. */
export async function untilRanAt(
  gateway: RemoteOperatorOptions,
  asked: AskedEvents,
): Promise<Ran | undefined> {
  await using operator = createRemoteOperator(gateway)
  return await untilAskedRan(operator, asked)
}

async function untilAskedRan(
  operator: Operator,
  { source, key, events }: AskedEvents,
): Promise<Ran | undefined> {
  if (events.length > 0 || key === undefined) return untilRan(operator, events)
  const kept = await operator.listEventsByKey(source, key)
  return untilRan(
    operator,
    kept.map(({ id }) => id),
  )
}

function describe({ id, state, reason }: EventRecord): readonly [string, string][] {
  if (state === 'done') return []
  return [[id, reason === undefined || reason === state ? state : `${state}: ${reason}`]]
}

/** What goes on by itself. A conflict, for one, waits for a person. */
const UNDER_WAY: readonly EventState[] = ['ready', 'running', 'waiting']
