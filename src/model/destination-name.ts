/** A destination's name is in the messages of the database, in the logs, and in what an operator types. */
export function isDestinationName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)
}
