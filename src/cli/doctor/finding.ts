/** What a check has found: whether all is well, and what to do where it is not. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'problem'
  /** What was looked at. */
  readonly check: string
  readonly message: string
  /** What to do. */
  readonly advice?: string
}
