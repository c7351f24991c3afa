import { DataTypes, Model, Sequelize } from 'sequelize'
import type {
  CreationOptional,
  InferAttributes,
  InferCreationAttributes,
  Transaction,
} from 'sequelize'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

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
export function openSequelize({ user, ...config }: ConnectionConfig) {
  const sequelize = new Sequelize({
    ...config,
    username: user,
    password: config.password ?? '',
    dialect: 'postgres',
    logging: false,
    pool: { max: 2 },
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
      tags: { type: DataTypes.ARRAY(DataTypes.TEXT), defaultValue: [] },
      data: DataTypes.JSONB,
    },
    { sequelize, tableName: 'invoices' },
  )
  return { sequelize, Effects, Invoices }
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
