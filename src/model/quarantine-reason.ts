/** Why an event is kept without being run. */
export type QuarantineReason =
  /** It cannot be told from others. */
  | 'no key'
  /** Its bytes were seen before under another key. */
  | 'same bytes under another key'
  /** A whole delivery: it carries more events than `receive.eventsMax`. */
  | 'too many events'
  /** It was signed too long ago, or too far ahead, for a sender that may retry for days. */
  | 'outside the time window'
