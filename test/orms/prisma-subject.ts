import { prismaTx } from '../../src/bindings/prisma.ts'
import type { PrismaTx } from '../../src/bindings/prisma.ts'
import { PrismaClient } from './generated/prisma/client.ts'

export type Tx = PrismaTx<PrismaClient>

export const createBinding = () => prismaTx(PrismaClient)

/** Prisma has no model without a key, which the contract's table does not have. */
export const PREPARE = 'alter table effects add column id serial'

export async function insert(tx: Tx, key: string, note: string): Promise<void> {
  await tx.effect.create({ data: { eventKey: key, note } })
}
