/**
 * For how long a process may answer from its memory of committed keys after it has asked for a beat: three beats may be
 * missed, since a busy event loop is no reason to send a storm to the database. A beat that was asked for before a key
 * was dropped is the last that did not tell of it, so that this long after the drop no process remembers the key.
 */
export const MEMORY_VALID_MS = 3_000
