/** A source's name is part of its URL, of the identity of every event, and of the logs. */
export function isSourceName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)
}
