import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireInteger } from '../../options/require-integer.ts'
import type { Acknowledgement } from '../../model/acknowledgement.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { EventRecord } from '../../model/outcome.ts'

/** What is delivered, and how often. */
export interface DeliverOptions {
  /**
   * How often, as a sender does that is not sure. Each has a signature of its own.
   *
   * @defaultValue 1
   */
  readonly times?: number
  /**
   * Whether all of them come at once.
   *
   * @defaultValue false
   */
  readonly parallel?: boolean
  /**
   * Your values in the sample payload; for a type without a sample the whole payload. A text or bytes are sent as they
   * are. Left out, the sample.
   */
  readonly payload?: unknown
  /** The event's id. Left out, a fresh one. */
  readonly id?: string
  /** When it was sent. Left out, now. */
  readonly at?: Date
  /** More headers. Left out, those of the sender. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What became of a delivery. */
export interface Delivered {
  readonly source: string
  readonly type: string
  /** The event's id, as it was given to the sender; empty where none was, since the payload has its own. */
  readonly key: string
  /** What the sender was answered each time; `undefined` where the process died first. */
  readonly answers: readonly (Acknowledgement | undefined)[]
  /** Of the events that were stored: one, unless the delivery was taken for several. */
  readonly eventIds: readonly string[]
  /** What is kept of the event, and how it ended; `undefined` where nothing was stored. */
  readonly event: () => Promise<EventRecord | undefined>
  /** The first delivery. */
  readonly first: Delivery
  /** Signs it once more. */
  readonly again: () => Delivery
}

export function readDeliverOptions(options: DeliverOptions): void {
  rejectUnknownKeys('deliver', options, ['times', 'parallel', 'payload', 'id', 'at', 'headers'])
  requireInteger('deliver.times', options.times ?? 1, { min: 1, max: 100_000 })
}

interface Receiving {
  readonly receive: (delivery: Delivery) => Promise<Acknowledgement | undefined>
  readonly find: (eventId: string) => Promise<EventRecord | undefined>
}

export async function deliverTo(
  { receive, find }: Receiving,
  delivery: Pick<Delivered, 'source' | 'type' | 'key' | 'first' | 'again'>,
  { times = 1, parallel = false }: Pick<DeliverOptions, 'times' | 'parallel'>,
): Promise<Delivered> {
  const { first, again } = delivery
  const sendOne = async (index: number): Promise<(Acknowledgement | undefined)[]> => {
    const answer = await receive(index === 0 ? first : again())
    // A sender without an answer delivers again.
    return answer === undefined ? [undefined, await receive(again())] : [answer]
  }
  const answers: (Acknowledgement | undefined)[] = []
  const indexes = Array.from({ length: times }, (_, index) => index)
  if (parallel) answers.push(...(await Promise.all(indexes.map(sendOne))).flat())
  else for (const index of indexes) answers.push(...(await sendOne(index)))
  const eventIds = [...new Set(answers.flatMap((answer) => answer?.eventId ?? []))]
  const event = async () => (eventIds[0] === undefined ? undefined : find(eventIds[0]))
  return { ...delivery, answers, eventIds, event }
}
