import Database from 'libsql'

/** As better-sqlite3 has it: values come one by one. */
interface Statement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): unknown
}

/**
 * A connection of `libsql` that is called as one of `better-sqlite3` is. libsql ends the process where bytes come one by
 * one, and takes a list.
 *
 * In these tests it stands for better-sqlite3, which has to be compiled or downloaded from elsewhere when it is installed.
 */
export class ListedLibsql extends (Database as unknown as new (file: string) => Connection) {
  override prepare(text: string): Statement {
    const statement = super.prepare(text)
    const { all, run } = statement
    return Object.assign(statement, {
      all: (...values: unknown[]) => all.call(statement, values),
      run: (...values: unknown[]) => run.call(statement, values),
    })
  }
}

interface Connection {
  prepare(text: string): Statement
  exec(text: string): unknown
}
