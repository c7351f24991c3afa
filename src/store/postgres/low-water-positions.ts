/**
 * From where on the messages of each destination are worth looking at. Claims of events have positions of another kind
 * (`claim-group.ts`).
 *
 * Before the first message of a claim there was nothing to send, but perhaps many dead entries of the index
 * (`sql/claim-messages.ts` has the measurement). What becomes visible there later, because its transaction
 * took long, its destination was resumed or a clock was set, is found by a look at the whole queue: once a
 * second while there is work, and a relay that goes to sleep is told to come back for it.
 *
 * A low-water position is kept as how long ago it is and counted on by a clock that cannot be set: this process and the
 * database need not agree on the time.
 *
 * Only PostgreSQL: a row that was deleted is gone from an index of SQLite at once.
 *
 * @module
 */

export class LowWaterPositions {
  readonly #positions = new Map<string, MessagePosition>()

  /** Before a claim: how long ago it begins to look; `undefined` for the whole queue. */
  begin<Wanted extends { readonly destination: string }>(wanted: Wanted): Wanted & Look {
    const now = performance.now()
    const position = this.#positions.get(wanted.destination)
    const isGood = position !== undefined && now - position.wholeAt < WHOLE_EVERY_MS
    return { ...wanted, ageMs: isGood ? ageOf(position, now) : undefined, at: now }
  }

  /** After it, with for how long the first of the claimed messages was due. */
  end({ destination, ageMs, at }: Look, dueForMs: number | undefined): void {
    const known = this.#positions.get(destination)
    const wasWhole = ageMs === undefined
    if (dueForMs === undefined && !wasWhole) {
      if (known !== undefined) known.wasWhole = false
      return
    }
    this.#positions.set(destination, {
      lowWaterAt: at - (dueForMs ?? 0),
      wholeAt: wasWhole ? at : (known?.wholeAt ?? at),
      wasWhole,
    })
  }

  /** For a look that claims nothing: in how long the whole queue is to be looked at, if the last claim did not. */
  find(destination: string): {
    readonly destination: string
    readonly ageMs: number | undefined
    readonly wholeInMs: number | undefined
  } {
    const now = performance.now()
    const position = this.#positions.get(destination)
    if (position === undefined) return { destination, ageMs: undefined, wholeInMs: undefined }
    const wholeInMs = Math.max(0, Math.ceil(position.wholeAt + WHOLE_EVERY_MS - now))
    return {
      destination,
      ageMs: ageOf(position, now),
      wholeInMs: position.wasWhole ? undefined : wholeInMs,
    }
  }
}

interface Look {
  readonly destination: string
  readonly ageMs: number | undefined
  readonly at: number
}

interface MessagePosition {
  lowWaterAt: number
  wholeAt: number
  /** Whether the last claim looked at the whole queue. */
  wasWhole: boolean
}

function ageOf({ lowWaterAt }: MessagePosition, now: number): number {
  return Math.ceil(now - lowWaterAt) + SLACK_MS
}

/** A message may become visible later than one that is due after it, by as long as its transaction took. */
const SLACK_MS = 1_000
const WHOLE_EVERY_MS = 1_000
