import type { AnyHappeningListener } from '../telemetry/emitter.ts'
import type { HappeningName, Happenings } from '../telemetry/happenings.ts'
import type { defineMetrics } from './definitions.ts'

type Metrics = ReturnType<typeof defineMetrics>
type Counting = {
  readonly [Name in HappeningName]?: (metrics: Metrics, happening: Happenings[Name]) => void
}

/** What each happening changes. The labels are names of the configuration and words of our own, never a sender's text. */
const COUNTING: Counting = {
  'delivery.answered': ({ deliveries, ack }, { source, outcome, durationMs }) => {
    deliveries.add({ source, outcome })
    if (durationMs !== undefined) ack.observe({ source }, durationMs / 1_000)
  },
  'delivery.refused': ({ signatureFailures }, { source, reason }) =>
    signatureFailures.add({ source, reason }),
  'event.done': ({ settled, process }, { source, durationMs }) => {
    settled.add({ source, state: 'done' })
    process.observe({ source }, durationMs / 1_000)
  },
  'event.skipped': ({ settled, process }, { source, durationMs }) => {
    settled.add({ source, state: 'skipped' })
    process.observe({ source }, durationMs / 1_000)
  },
  'event.failed': ({ failures }, { source, reason }) => failures.add({ source, reason }),
  'event.dead': ({ settled }, { source }) => settled.add({ source, state: 'dead' }),
  'event.crashed': ({ crashes, settled }, { source, dead }) => {
    crashes.add({ source })
    // No `event.dead` follows.
    if (dead) settled.add({ source, state: 'dead' })
  },
  'lane.blocked': ({ lanesBlocked }, { source }) => lanesBlocked.add({ source }),
  'message.sent': ({ messages, message }, { destination, durationMs }) => {
    messages.add({ destination, outcome: 'sent' })
    message.observe({ destination }, durationMs / 1_000)
  },
  'message.failed': ({ messages }, { destination }) =>
    messages.add({ destination, outcome: 'failed' }),
  'message.dead': ({ messages }, { destination }) => messages.add({ destination, outcome: 'dead' }),
  'message.unknown': ({ messages }, { destination }) =>
    messages.add({ destination, outcome: 'unknown' }),
  'destination.held': ({ held }, { destination }) => held.add({ destination }),
  'store.unavailable': ({ storeOutages }) => storeOutages.add({}),
  'store.listen-lost': ({ listenDown }) => listenDown.set({}, 1),
  'store.listen-restored': ({ listenDown }) => listenDown.set({}, 0),
  'store.commit-unknown': ({ commitsUnknown }) => commitsUnknown.add({}),
  'store.decrypt-failed': ({ decryptFailures }) => decryptFailures.add({}),
  'group.commit-unknown': ({ commitsUnknown }) => commitsUnknown.add({}),
  'worker.error': ({ errors }) => errors.add({ part: 'worker' }),
  'relay.error': ({ errors }) => errors.add({ part: 'relay' }),
  'retention.error': ({ errors }) => errors.add({ part: 'retention' }),
}

export function countHappenings(metrics: Metrics): AnyHappeningListener {
  return (name, happening) => {
    const count = COUNTING[name] as
      ((metrics: Metrics, about: typeof happening) => void) | undefined
    count?.(metrics, happening)
  }
}
