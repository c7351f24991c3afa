/** Asks a sender's own API what it has sent. `githubDeliveries`, `stripeEvents` and `shopifyResources` make one. */
export interface BackfillClient {
  /** For how many days the sender keeps what it lists. Left out where it keeps everything, or that is not known. */
  readonly keptDays?: number
  /**
   * One page of what was sent. It rejects when the API cannot be asked now: the back-fill then stops, and says
   * where it can be taken up again.
   */
  list(request: BackfillRequest): Promise<BackfillPage>
}

/** What a client is asked for. */
export interface BackfillRequest {
  readonly since: Date
  readonly until: Date
  /** Where the last page ended; left out for the first. */
  readonly cursor?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** A part of what the sender says it sent. */
export interface BackfillPage {
  /** In any order: they are taken in by `occurredAt`. Of several with one time the last is taken for the oldest. */
  readonly events: readonly BackfillEvent[]
  /** Where the next page begins; left out after the last. */
  readonly next?: string | undefined
}

/** What the sender says of one event. */
export interface BackfillEvent {
  /** The key that the source finds in a delivery of it. */
  readonly key: string
  readonly type: string
  readonly occurredAt?: Date | undefined
  /** What its delivery was, as far as the API knows. Asked for only where the inbox lacks the event. */
  load(signal?: AbortSignal): Promise<BackfillDelivery>
}

/** What a delivery of an event was. */
export interface BackfillDelivery {
  /** Those that the source reads, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}
