/**
 * Prisma's statements on a lent transaction of PostgreSQL.
 *
 * @module
 */

import type { PostgresTx } from '../store/postgres/tx.ts'
import type { PrismaEngine } from './prisma-adapter.ts'
import { describeForPrisma } from './prisma-postgres-errors.ts'
import { findColumnType, PRISMA_TYPES, toParameter } from './prisma-postgres-values.ts'

/** `schema` is where the user's tables are; without it, where Prisma looks by itself. */
export function prismaOnPostgres(schema: string | undefined): PrismaEngine<PostgresTx> {
  return {
    provider: 'postgres',
    connectionInfo: {
      supportsRelationJoins: true,
      ...(schema !== undefined && { schemaName: schema }),
    },
    open: (sql) => {
      const nested = sql.asNested()
      return async ({ sql: text, args, argTypes }) => {
        const values = args.map((arg, at) => toParameter(arg, argTypes[at]))
        const asked = { text, values, rowMode: 'array', types: PRISMA_TYPES } as const
        try {
          const { fields, rows, rowCount } = await nested.query<unknown[]>(asked)
          return {
            columnNames: fields.map(({ name }) => name),
            columnTypes: fields.map(({ dataTypeID }) => findColumnType(dataTypeID)),
            rows,
            changed: rowCount ?? 0,
          }
        } catch (error) {
          throw describeForPrisma(error)
        }
      }
    },
  }
}
