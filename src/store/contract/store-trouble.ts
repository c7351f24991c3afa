/**
 * What an error of the database says about the work that met it:
 *
 * - `contended`: another transaction was in the way. The work is not to blame, and may be tried again at once.
 * - `read-only`: the database takes no writes now, like a server in recovery. No event is to blame.
 */
export type StoreTrouble = 'contended' | 'read-only'
