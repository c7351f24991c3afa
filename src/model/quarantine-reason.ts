/** Why an event is kept without being run. */
export type QuarantineReason =
  /** What makes it this event and no other cannot be found. */
  | 'no key'
  /** Its bytes were seen before under another key. */
  | 'same bytes under another key'
  /** It is a whole delivery, with more events than `receive.eventsMax`. */
  | 'too many events'
  /** It was signed too long ago, or too far ahead, for a sender that may retry for days. */
  | 'outside the time window'
  /** It is from a time of which keys were pruned, so that it cannot be told whether it has run. */
  | 'stale'
