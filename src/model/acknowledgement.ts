/** What a sender is told. An HTTP adapter writes it as it is. */
export interface Acknowledgement {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What happened, for logs and metrics; never sent. */
  readonly outcome: AcknowledgementOutcome
  readonly eventId: string | undefined
  /** Whether the connection should be closed after the answer, because the request was not read to its end. */
  readonly close: boolean
}

/** Why a sender was answered as it was. */
export type AcknowledgementOutcome =
  | 'accepted'
  | 'duplicate'
  | 'conflict'
  | 'quarantined'
  | 'failed'
  | 'handshake'
  | 'refused'
  | 'malformed'
  | 'unknown-source'
  | 'wrong-method'
  | 'too-slow'
  | 'too-large'
  | 'encoded'
  | 'unavailable'
  | 'body-parsed'
