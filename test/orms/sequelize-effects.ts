import { DataTypes, Model, Sequelize } from 'sequelize'
import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Options,
  Transaction,
} from 'sequelize'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'
import { sqlite3OnLibsql } from './sqlite3-on-libsql.ts'

export class Effect extends Model<InferAttributes<Effect>, InferCreationAttributes<Effect>> {
  declare eventKey: string
  declare note: string
}

export class Invoice extends Model<InferAttributes<Invoice>, InferCreationAttributes<Invoice>> {
  declare id: string
  declare status: CreationOptional<string>
  declare cents: CreationOptional<string>
  declare paidAt: CreationOptional<Date | null>
  declare dueOn: CreationOptional<string | null>
  declare tags: CreationOptional<string[]>
  declare data: CreationOptional<object | null>
}

/** With models of its own: a model knows one instance. */
export function openSequelize(database: KilledDatabase) {
  const sequelize = new Sequelize({
    ...connectionOf(database),
    logging: false,
    define: { timestamps: false },
  })
  class Effects extends Effect {}
  class Invoices extends Invoice {}
  Effects.init(
    { eventKey: { type: DataTypes.TEXT, field: 'event_key' }, note: DataTypes.TEXT },
    { sequelize, tableName: 'effects' },
  )
  // The table has no key, so that an effect that happens twice is two rows.
  Effects.removeAttribute('id')
  Invoices.init(
    {
      id: { type: DataTypes.TEXT, primaryKey: true },
      status: { type: DataTypes.TEXT, defaultValue: 'open' },
      cents: { type: DataTypes.BIGINT, defaultValue: 0 },
      paidAt: { type: DataTypes.DATE, field: 'paid_at' },
      dueOn: { type: DataTypes.DATEONLY, field: 'due_on' },
      // Only PostgreSQL has lists.
      ...(database.engine === 'postgres'
        ? { tags: { type: DataTypes.ARRAY(DataTypes.TEXT), defaultValue: [] } }
        : { tags: { type: DataTypes.JSON, defaultValue: [] } }),
      data: database.engine === 'postgres' ? DataTypes.JSONB : DataTypes.JSON,
    },
    { sequelize, tableName: 'invoices' },
  )
  return { sequelize, Effects, Invoices }
}

function connectionOf(database: KilledDatabase): Options {
  if (database.engine === 'sqlite')
    return { dialect: 'sqlite', dialectModule: sqlite3OnLibsql, storage: database.file }
  const { user, password = '', ...config } = database.config
  return { ...config, dialect: 'postgres', username: user, password, pool: { max: 2 } }
}

export function insertWithSequelize(transaction: Transaction, eventKey: string, note: string) {
  const { Effects } = transactionModels(transaction)
  return Effects.create({ eventKey, note }, { transaction })
}

/** The models of the instance that a transaction belongs to. */
export function transactionModels(transaction: Transaction) {
  const { sequelize } = transaction as unknown as { sequelize: Sequelize }
  return sequelize.models as unknown as {
    readonly Effects: typeof Effect
    readonly Invoices: typeof Invoice
  }
}
