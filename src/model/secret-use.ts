/** A secret of a source as it may be shown: by its label, never by itself. */
export interface SecretLabel {
  /** What the user calls it, or its place in the list: '1', '2', … */
  readonly label: string
  /** The last moment at which it verifies; left out where it has no end. */
  readonly until?: Date
}

/** How much a secret of a source is used. */
export interface SecretUse {
  /** The name of the source. */
  readonly source: string
  /** What the secret is called; never a part of the secret. */
  readonly label: string
  /** How many deliveries it has verified, duplicates among them. May lag five seconds, and lose as much in a crash. */
  readonly deliveries: number
  /** When it last verified one, by the clock of the process that received it; `undefined` where it never has. */
  readonly lastUsedAt: Date | undefined
  /** The last moment at which it verifies, as the process that wrote it last was told; `undefined` where it has no end. */
  readonly until: Date | undefined
}
