/**
 * Only PostgreSQL: SQLite keeps ids as text and finds nothing by one that is none.
 *
 * @module
 */

/** What cannot be an id is the id of nothing, and PostgreSQL would call it an error. */
export function isEventId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
}
