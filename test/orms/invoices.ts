import type { Engine } from '../../src/store/contract/tx-binding.ts'

/** What the libraries are asked to write and read back. */
export const CREATE_INVOICES: Readonly<Record<Engine, string>> = {
  postgres: `create table invoices (
    id text primary key,
    status text not null default 'open',
    cents bigint not null default 0,
    paid_at timestamptz,
    due_on date,
    tags text[] not null default '{}',
    data jsonb
  )`,
  // As the libraries declare such columns themselves; none has lists.
  sqlite: `create table invoices (
    id text primary key,
    status text not null default 'open',
    cents bigint not null default 0,
    paid_at datetime,
    due_on date,
    tags json not null default '[]',
    data json
  )`,
}

/** A number that is no safe integer, a moment that summer time skips in Berlin, a list, and texts that break quotes. */
export const AWKWARD = {
  id: `in_'";--\\`,
  status: 'paid',
  cents: '9007199254740993',
  paidAt: new Date('2026-03-29T01:30:00.123Z'),
  dueOn: '2026-03-29',
  tags: ['a,b', '{c}', `"d'`, '€'],
  data: { nested: ['€', { deep: true }], text: '?' },
}
