/** What an error from a handler's statement means to the group. */
export type ContentionKind = 'lock-timeout' | 'deadlock' | 'serialization'

/**
 * Errors that say "somebody else was in the way", by SQLSTATE. They cost no attempt.
 * SQLite has one writer and knows none of them.
 */
export function findContention(error: unknown): ContentionKind | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  switch (error.code) {
    case '55P03':
      return 'lock-timeout'
    case '40P01':
      return 'deadlock'
    case '40001':
      return 'serialization'
    default:
      return undefined
  }
}
