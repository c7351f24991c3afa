import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

/** A table of the service, in the database that also keeps the events. */
export const payments = pgTable('payments', {
  invoice: text().notNull(),
  cents: integer().notNull(),
  paidAt: timestamp('paid_at', { withTimezone: true }).notNull().defaultNow(),
})

/** What `drizzle-kit` would make of it; a service has migrations for that. */
export const CREATE_PAYMENTS = `create table if not exists payments (
  invoice text not null,
  cents integer not null,
  paid_at timestamptz not null default now()
)`
