/** The rows in what a library answers: a list, or an object that has one; none for a statement that returns none. */
export function rowsOf(answer: unknown): { readonly rows: readonly unknown[] } {
  if (Array.isArray(answer)) return { rows: answer }
  const rows = (answer as { readonly rows?: unknown } | null | undefined)?.rows
  return { rows: Array.isArray(rows) ? rows : [] }
}

/** Whether a statement of ours for SQLite returns rows: drivers have another method for those that do not. */
export function returnsRows(text: string): boolean {
  return /^\s*(?:select\b|pragma \w+$)/.test(text)
}
