/**
 * The name of a schema, a savepoint or a channel as it stands in SQL text, where no parameter can stand for it.
 * All that is put into a text goes through here.
 */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
