import { prismaTx } from '../../src/bindings/prisma.ts'
import type { PrismaTx } from '../../src/bindings/prisma.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import { PrismaClient as SqliteClient } from './generated/prisma-sqlite/client.ts'

export type Tx = PrismaTx<PrismaClient>

export const createBinding = () => prismaTx(PrismaClient)

/** The models that the tests of both engines use are the same in both clients. */
export const createSqliteBinding = () =>
  prismaTx(SqliteClient) as unknown as TxBinding<SqliteTx, Tx>

/** Prisma has no model without a key, which the contract's table does not have on PostgreSQL. */
export const PREPARE = 'alter table effects add column id serial'

export async function insert(tx: Tx, key: string, note: string): Promise<void> {
  await tx.effect.create({ data: { eventKey: key, note } })
}
