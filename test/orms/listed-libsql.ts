import Database from 'libsql'

type Values = unknown[]

/**
 * A connection of `libsql` that is called as one of `better-sqlite3` may be: with values one by one. libsql ends the
 * process where bytes come so, and takes a list.
 *
 * In these tests it stands for better-sqlite3, which has to be compiled or downloaded from elsewhere when it is installed.
 */
export class ListedLibsql extends Database {
  override prepare(text: string) {
    const statement = super.prepare(text)
    const { all, run } = statement
    return Object.assign(statement, {
      all: (...values: Values) => all.call(statement, values) as unknown[],
      run: (...values: Values) => run.call(statement, values),
    })
  }
}
