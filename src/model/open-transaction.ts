/**
 * What has been open for long in the database. While it is, the database keeps every row that was deleted since: the
 * tables of what is due grow, and every look into them gets longer.
 */
export interface OpenTransaction {
  /**
   * - `session`: a transaction of a connection. `name` is its process id.
   * - `prepared`: one that was prepared and neither committed nor rolled back. `name` is how it is called.
   * - `standby`: a query on a standby that tells the primary (`hot_standby_feedback`). `name` is the process id of the
   *   connection that sends to it.
   * - `slot`: a replication slot whose reader is behind. `name` is the slot's.
   */
  readonly kind: 'session' | 'prepared' | 'standby' | 'slot'
  readonly name: string
  /** Whose it is, and what that client calls itself; a slot has neither. */
  readonly role: string | undefined
  readonly application: string | undefined
  /**
   * When it was begun, by the database's clock. `undefined` for a standby and a slot, and for the sessions of another
   * role where ours is not a member of `pg_read_all_stats`.
   */
  readonly since: Date | undefined
  /**
   * How many transactions have been numbered since the oldest that it must still be able to see. `undefined` while it
   * holds nothing back, like a transaction that is idle and keeps no snapshot.
   */
  readonly behind: number | undefined
}
