/**
 * What this store needs of `pg`, by shape, so that the package does not import a driver and works
 * with whichever version of it the user's pool comes from.
 *
 * @module
 */

/** A `pg.Pool`, or something that behaves like one. */
export interface PgPool {
  connect(): Promise<PgPoolClient>
  /**
   * As `pg` does it: the callback gets the client in the same round of the event loop in which the pool stops listening to it. A
   * pool that does not know it returns a promise. Its clients then have no listener for a moment, and one
   * that is ended in that moment ends the process.
   */
  connect(callback: (error: Error | undefined, client: PgPoolClient | undefined) => void): unknown
  query(text: string, values?: unknown[]): Promise<PgResult>
  readonly options?: PgPoolSettings
  on?(event: 'error', listener: (error: Error) => void): unknown
  removeListener?(event: 'error', listener: (error: Error) => void): unknown
}

/** The settings of a pool that are read: where the database is, for messages, and how many connections there are. */
export interface PgPoolSettings {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly connectionString?: string | undefined
  readonly max?: number | undefined
}

/** A client of a `pg.Pool`, as far as it is used. */
export interface PgPoolClient {
  query(config: PgQueryConfig): Promise<PgResult>
  release(destroy?: boolean | Error): void
  // The listeners' arguments are `any` as in Node's own types: from @types/node 26 on, a pool's client is
  // not taken for this shape with anything narrower.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
  on(event: string, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
  removeListener(event: string, listener: (...args: any[]) => void): unknown
  /** The backend's process, as it said when the connection was made. A pooler says something of its own. */
  readonly processID?: number | null
  /** The protocol's transaction status; older versions of the driver do not have it. */
  getTransactionStatus?(): string | null
}

export interface PgQueryConfig {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  readonly rowMode?: 'array'
  /** One statement and no more, also without values. Drivers that do not know it take no notice. */
  readonly queryMode?: 'extended'
  readonly binary?: boolean
  readonly types?: PgTypeParsers
}

/** How values of an answer are read; `pg.types` is one. */
export interface PgTypeParsers {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as in `pg`: what a parser takes depends on the format
  getTypeParser(oid: number, format?: any): (value: any) => unknown
}

/** What `pg` answers to a statement. */
export interface PgResult<Row = Record<string, unknown>> {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly command: string
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}
