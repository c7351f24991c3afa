/**
 * The tokens of a gateway's operators, part of migration 1.
 *
 * @module
 */

export const TOKEN_TABLES = `
-- hash: SHA-256 of the token, which itself is kept nowhere.
create table {schema}.tokens (
  name       text        primary key,
  role       text        not null,
  hash       text        not null unique,
  created_at timestamptz not null,
  expires_at timestamptz
);`
