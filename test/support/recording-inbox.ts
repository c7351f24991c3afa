import { HookonceError } from '../../src/errors.ts'
import type { ReceivingInbox } from '../../src/http/receiving-inbox.ts'
import type { Acknowledgement } from '../../src/model/acknowledgement.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { stored, unknownSource } from '../../src/receive/acknowledge.ts'
import { ByteBudget } from '../../src/receive/byte-budget.ts'
import { findBreach, resolveSourceLimits } from '../../src/receive/limits.ts'
import type { SourceLimits } from '../../src/receive/limits.ts'
import { resolveReceiveOptions } from '../../src/receive/options.ts'
import type { ReceiveOptions } from '../../src/receive/options.ts'

export interface RecordingInbox extends ReceivingInbox {
  /** What arrived, in order, whatever the limits said of it. A test that lets in many may empty it. */
  readonly received: { readonly source: string; readonly delivery: Delivery }[]
  readonly hints: readonly { readonly source: string; readonly hint: string }[]
  /** Holds every delivery inside `receive` until `release` is called. */
  hold(): { release(): void }
  /** Resolves when that many deliveries have reached `receive`. */
  arrived(count: number): Promise<void>
  setReady(isReady: boolean): void
}

/** An inbox for tests of adapters: real limits, no signatures, and a memory instead of a store. */
export function recordingInbox(options: ReceiveOptions = {}): RecordingInbox {
  const received: { source: string; delivery: Delivery }[] = []
  const hints: { source: string; hint: string }[] = []
  const receiveOptions = resolveReceiveOptions(options)
  const sources = new Map([
    ['stripe', aSource('stripe-signature')],
    ['standard', aSource('webhook-id', 'webhook-timestamp', 'webhook-signature')],
  ])
  let gate: Promise<void> = Promise.resolve()
  let isReady = true
  let notify: () => void = () => undefined

  async function receive(name: string, delivery: Delivery): Promise<Acknowledgement> {
    const source = sources.get(name)
    if (source === undefined) return unknownSource()
    received.push({ source: name, delivery })
    notify()
    await gate
    const breach = findBreach(source, delivery, receiveOptions)
    return (
      breach ?? stored(source.success, { outcome: 'accepted', eventId: `event-${received.length}` })
    )
  }

  const findSource = (name: string): SourceLimits | undefined => {
    const source = sources.get(name)
    return source === undefined ? undefined : resolveSourceLimits(source, receiveOptions)
  }

  return {
    received,
    hints,
    receiveOptions,
    inFlight: new ByteBudget(receiveOptions.inFlightBytesMax),
    receive,
    findSource,
    requireSource(name) {
      const limits = findSource(name)
      if (limits !== undefined) return limits
      throw new HookonceError('SOURCE_UNKNOWN', 'No such source is configured')
    },
    reportBodyParsed(source, hint) {
      hints.push({ source, hint })
    },
    isReady: () => isReady,
    setReady(value) {
      isReady = value
    },
    hold() {
      let release: () => void = () => undefined
      gate = new Promise((resolve) => {
        release = resolve
      })
      return { release }
    },
    arrived(count) {
      return new Promise((resolve) => {
        notify = () => {
          if (received.length >= count) resolve()
        }
        notify()
      })
    },
  }
}

function aSource(...securityHeaders: string[]): Source {
  return {
    provider: 'test',
    securityHeaders,
    acknowledge: 'stored',
    redelivery: 'retry',
    sameBytes: 'run',
    success: { status: 200, body: 'json' },
    retryWindowHours: null,
    warnings: [],
    verify: () => ({ ok: true, secret: 'test' }),
    identify: () => [],
  }
}
