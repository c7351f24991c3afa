import { createRequire } from 'node:module'
import type { Probe } from './probed-client.ts'

interface LibsqlStatement {
  run(...params: unknown[]): unknown
  all(...params: unknown[]): unknown
}

interface LibsqlPrototype {
  exec(sql: string): unknown
  prepare(sql: string): LibsqlStatement
}

/**
 * Lets every statement of this process's SQLite pass a probe, by changing the binding's own class.
 * SQLite answers before a call returns, so there is a before and an after, and nothing can wait.
 */
export function probeLibsql(probe: Probe): void {
  const require = createRequire(import.meta.url)
  const { prototype } = require('libsql') as { readonly prototype: LibsqlPrototype }
  const { exec, prepare } = prototype

  const between = <Result>(connection: object, text: string, run: () => Result): Result => {
    void probe({ connection, text, phase: 'before' })
    const result = run()
    void probe({ connection, text, phase: 'after' })
    return result
  }
  prototype.exec = function (this: LibsqlPrototype, sql) {
    return between(this, sql, () => exec.call(this, sql))
  }
  prototype.prepare = function (this: LibsqlPrototype, sql) {
    const statement = prepare.call(this, sql)
    const { run, all } = statement
    statement.run = (...params) => between(this, sql, () => run.apply(statement, params))
    statement.all = (...params) => between(this, sql, () => all.apply(statement, params))
    return statement
  }
}
