/** What a delivery shall carry. All of it has a default. */
export interface SignedEvent {
  /**
   * The event type: one that the provider has a sample payload of, or any with a `body`.
   *
   * @defaultValue the first of the provider's fixture
   */
  readonly type?: string
  /**
   * The event's id, put where the provider has it.
   *
   * @defaultValue a fresh one
   */
  readonly key?: string
  /**
   * The body in place of the fixture's. An object or a list is written as JSON, with `key` and `type` in it
   * where they are given.
   *
   * @defaultValue the fixture's payload
   */
  readonly body?: unknown
  /** More headers, or others in place of the fixture's. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * When it is sent and received.
   *
   * @defaultValue now
   */
  readonly at?: Date
  /** @defaultValue 'POST' */
  readonly method?: string
  /** The path and query as the server sees them. */
  readonly url?: string
}
