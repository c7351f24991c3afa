/**
 * Errors of PostgreSQL as Prisma's driver adapters tell of them, so that a handler catches what it knows: a
 * `PrismaClientKnownRequestError` with the code P2002 for a unique constraint, and so on.
 *
 * Ours are handed on as they are: Prisma throws what it does not know.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'
import { DriverAdapterError } from './prisma-adapter.ts'

/** An error of the driver, as far as it is read. */
interface DriverError {
  readonly code: string
  readonly message: string
  readonly severity: string
  readonly detail?: string
  readonly column?: string
  readonly constraint?: string
  readonly table?: string
  readonly hint?: string
}

export function describeForPrisma(error: unknown): unknown {
  if (error instanceof HookonceError || !isDriverError(error)) return error
  const { code, message } = error
  return new DriverAdapterError(
    { originalCode: code, originalMessage: message, ...describe(error) },
    message,
  )
}

function isDriverError(error: unknown): error is DriverError {
  const { code, message, severity } = (error ?? {}) as Partial<Record<string, unknown>>
  return [code, message, severity].every((member) => typeof member === 'string')
}

function describe(error: DriverError): object {
  const { code, message, severity, detail, column, hint, table } = error
  switch (code) {
    case '22001':
      return { kind: 'LengthMismatch', column }
    case '22003':
      return { kind: 'ValueOutOfRange', cause: message }
    case '22P02':
      return { kind: 'InvalidInputValue', message }
    case '23505':
      return { kind: 'UniqueConstraintViolation', constraint: findConstraint(error), table }
    case '23502':
      return { kind: 'NullConstraintViolation', constraint: findConstraint(error) }
    case '23503':
      return { kind: 'ForeignKeyConstraintViolation', constraint: findConstraint(error) }
    case '23001':
      return { kind: 'RestrictViolation', constraint: findConstraint(error) }
    case '40001':
    case '40P01':
      return { kind: 'TransactionWriteConflict' }
    case '42P01':
      return { kind: 'TableDoesNotExist', table: /"([^"]+)"/.exec(message)?.[1] }
    case '42703':
      return { kind: 'ColumnNotFound', column: /^column (.+) does not exist$/.exec(message)?.[1] }
    default:
      return { kind: 'postgres', code, severity, message, detail, column, hint }
  }
}

function findConstraint({ constraint, column, detail }: DriverError): object | undefined {
  if (constraint !== undefined) return { index: constraint }
  const fields = column ?? /Key \(([^)]+)\)/.exec(detail ?? '')?.[1]
  return fields === undefined ? undefined : { fields: fields.split(', ') }
}
