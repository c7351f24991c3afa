/**
 * Tells statements that may run code of the user's in the database from those that plainly do not.
 *
 * A scanner like `transaction-control.ts`. It knows verbs, and functions of PostgreSQL's own that change nothing in
 * the session; everything else is unknown, which costs a closer look at the connection (`session-watch.ts`) and
 * nothing else. What a trigger does it cannot see.
 *
 * Only PostgreSQL: SQLite has no functions of the user's that could hide what they do.
 *
 * @module
 */

import { listStatementKeywords, splitTokens } from '../shared/transaction-control.ts'

export function runsUnknownCode(sql: string): boolean {
  const verbs = listStatementKeywords(sql, 'postgres')
  if (!verbs.every((verb) => VERBS.has(verb))) return true
  if (!sql.includes('(')) return false
  const words = splitTokens(sql, 'postgres').filter((token) => !/^(?:\s|--|\/\*)/.test(token))
  return words.some((word, at) => words[at + 1] === '(' && isUnknown(word, words, at))
}

function isUnknown(word: string, words: readonly string[], at: number): boolean {
  if (!/^["a-z_\u0080-\uffff]/i.test(word)) return false
  const isQualified = words[at - 1] === '.'
  const before = (words[isQualified ? at - 3 : at - 1] ?? '').toLowerCase()
  // The columns of a table, or those of an alias.
  if (before === 'into' || before === 'as') return false
  if (isQualified && words[at - 2]?.toLowerCase() !== 'pg_catalog') return true
  return !KNOWN.has(word.toLowerCase())
}

/** Empty: a statement in brackets. SET and RESET are looked at by `setting-change.ts`. */
const VERBS: ReadonlySet<string> = new Set(
  ' SELECT INSERT UPDATE DELETE MERGE WITH VALUES SET RESET'.split(' '),
)

/** Words that may stand before a bracket, and functions of which handlers are full. */
const KNOWN: ReadonlySet<string> = new Set(
  `
  all and any array as between bit by case cast char character conflict cube decimal distinct else except exists
  filter float from group having in intersect interval into is join key lateral like limit materialized not numeric
  offset on only or over partition precision returning rollup row select set sets some then time timestamp timestamptz
  union update using values varchar varying when where with within

  abs age array_agg array_append array_cat array_length array_position array_remove array_to_string avg bool_and
  bool_or btrim cardinality ceil ceiling char_length clock_timestamp coalesce concat concat_ws convert_from convert_to
  count current_setting date_bin date_part date_trunc decode dense_rank encode every exp extract first_value floor
  format gen_random_uuid generate_series greatest hashtext hashtextextended initcap json_agg json_array_elements
  json_array_elements_text json_build_array json_build_object json_each json_each_text json_extract_path
  json_extract_path_text json_object_agg json_populate_record json_to_record json_to_recordset jsonb_agg
  jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
  jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_path_exists
  jsonb_path_query jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof lag
  last_value lastval lead least left length lower lpad ltrim make_date make_interval make_timestamptz max md5 min mod
  nextval now ntile nullif num_nonnulls num_nulls octet_length overlay percentile_cont pg_advisory_lock
  pg_advisory_unlock pg_advisory_unlock_all pg_advisory_xact_lock pg_backend_pid pg_current_xact_id pg_notify pg_sleep
  pg_try_advisory_lock pg_try_advisory_xact_lock pg_typeof position power quote_ident quote_literal random rank
  regexp_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right round row_number
  row_to_json rpad rtrim set_config setval sha256 sign split_part sqrt starts_with statement_timestamp string_agg
  string_to_array strpos substr substring sum timezone to_char to_date to_json to_jsonb to_number to_regclass
  to_timestamp transaction_timestamp translate trim trunc unnest upper width_bucket
  `
    .split(/\s+/)
    .filter((word) => word !== ''),
)
