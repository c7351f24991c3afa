import Database from 'libsql'

type Callback = (this: object, error: unknown, rows?: unknown) => void
type Values = readonly unknown[] | Readonly<Record<string, unknown>>

/**
 * As much of the package `sqlite3` as Sequelize calls, on `libsql`: sqlite3 has to be compiled or downloaded from
 * elsewhere when it is installed. The user's own connections are of this; a handler's is ours.
 */
class Sqlite3Database {
  readonly #db: InstanceType<typeof Database>

  constructor(file: string, _mode: number, opened: (error: unknown) => void) {
    this.#db = new Database(file)
    queueMicrotask(() => opened(null))
  }

  serialize(work: () => void): void {
    work()
  }

  run(text: string, ...given: [Values?, Callback?]): void {
    this.#ask(text, given)
  }

  all(text: string, ...given: [Values?, Callback?]): void {
    this.#ask(text, given)
  }

  close(closed?: (error: unknown) => void): void {
    this.#db.close()
    closed?.(null)
  }

  #ask(text: string, given: readonly unknown[]): void {
    const callback = given.find((one) => typeof one === 'function') as Callback | undefined
    const values = given.find((one) => typeof one === 'object') as Values | undefined
    class Statement {
      lastID = 0
      changes = 0
    }
    const told = new Statement()
    try {
      const statement = this.#db.prepare(text)
      const bound = Array.isArray(values) ? values : nameless(values)
      if (statement.reader) return callback?.call(told, null, statement.all(bound))
      const { changes, lastInsertRowid } = statement.run(bound)
      callback?.call(Object.assign(told, { changes, lastID: lastInsertRowid }), null, [])
    } catch (error) {
      callback?.call(told, error)
    }
  }
}

/** sqlite3 wants `$` before a name, and libsql none. */
function nameless(values: object = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name.slice(1), value]))
}

/** For `new Sequelize({ dialect: 'sqlite', dialectModule })`. */
export const sqlite3OnLibsql = { Database: Sqlite3Database, OPEN_READWRITE: 2, OPEN_CREATE: 4 }
