/**
 * A `Kysely` that is a transaction and can open transactions, at any depth. Kysely's own `Transaction` throws where
 * code opens one in it; here that is a savepoint.
 *
 * Of each there are two: what code is handed, and the root, which has the same plugins and can begin. Both speak
 * through the transaction that was lent, the root with a connection for each transaction that it begins. It is made when
 * it is asked for.
 *
 * @module
 */

import type { CompiledQuery, Kysely } from 'kysely'

/** What makes another instance from one. Those that an older version does not have are left out. */
const DERIVING = [
  'withPlugin',
  'withoutPlugins',
  'withSchema',
  'withTables',
  '$extendTables',
  '$omitTables',
  '$pickTables',
]
const OPENING = ['transaction', 'startTransaction']
const SETTING = ['setAccessMode', 'setIsolationLevel']
/** Of a transaction that is controlled by hand: each gives another one. */
const COMMANDS = ['savepoint', 'rollbackToSavepoint', 'releaseSavepoint']

type Given = readonly unknown[]

/** `db` has one connection for all that it sends, an instance of `openRoot` one for each transaction. What comes back is a `KyselyTx`. */
export function asTransaction<Database>(
  db: Kysely<Database>,
  openRoot: () => Kysely<Database>,
): object {
  let root: Kysely<Database> | undefined
  return nestable(db, () => (root ??= openRoot()))
}

/** Code that asks `isTransaction` to know whether to open one must hear that it is in one. */
function nestable(db: object, root: () => object): object {
  Object.defineProperty(db, 'isTransaction', { value: true })
  override(db, DERIVING, (name, given) =>
    nestable(callOwn(db, name, given), () => callOwn(root(), name, given)),
  )
  override(db, OPENING, (name, given) => opening(callOwn(root(), name, given), db, root))
  override(db, COMMANDS, (name, given) => {
    const command = callOwn(db, name, given)
    override(command, ['execute'], async () => nestable(await execute(command), root))
    return command
  })
  return db
}

/** A builder of a transaction inside `db`: what it opens can open others. */
function opening(builder: object, db: object, root: () => object): object {
  override(builder, SETTING, (name, given) => opening(callOwn(builder, name, given), db, root))
  override(builder, ['execute'], async (name, [work]) => {
    await requireOpen(db)
    if (typeof work !== 'function') return nestable(await execute(builder), root)
    const nested = (inner: object): unknown =>
      (work as (tx: object) => unknown)(nestable(inner, root))
    return callOwn(builder, name, [nested])
  })
  return builder
}

/**
 * The root would open one also for a transaction that has ended. This throws what Kysely throws there: up to 0.28 where
 * a connection is asked for, and later where a query begins. The one here is never run, since its rows are not asked for.
 */
async function requireOpen(db: object): Promise<void> {
  const executor = (db as Kysely<unknown>).getExecutor()
  await executor.provideConnection(async () => undefined)
  executor.stream(NO_QUERY, 1)
}

const NO_QUERY = {} as CompiledQuery

function override(
  object: object,
  names: readonly string[],
  work: (name: string, given: Given) => unknown,
): void {
  for (const name of names) {
    if (typeof Reflect.get(object, name) !== 'function') continue
    Object.defineProperty(object, name, { value: (...given: Given) => work(name, given) })
  }
}

/** The method of its class, whatever the object has in its place. */
function callOwn(object: object, name: string, given: Given): object {
  const method: unknown = Reflect.get(Object.getPrototypeOf(object) as object, name)
  return Reflect.apply(method as (...given: Given) => object, object, given)
}

async function execute(builder: object): Promise<object> {
  return callOwn(builder, 'execute', [])
}
