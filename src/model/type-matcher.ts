/** `*` stands for any text, dots included; everything else for itself. */
export function createMatcher(patterns: readonly string[]): (type: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const globs = patterns
    .filter((pattern) => pattern.includes('*'))
    .map((pattern) => pattern.split('*'))
  return (type) => exact.has(type) || globs.some((parts) => matchesGlob(type, parts))
}

/** Left to right, each part as early as possible: linear, where a regular expression could be made to backtrack. */
function matchesGlob(text: string, parts: readonly string[]): boolean {
  const first = parts[0] as string
  const last = parts[parts.length - 1] as string
  if (text.length < first.length + last.length) return false
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  const until = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from)
    if (at === -1 || at + part.length > until) return false
    from = at + part.length
  }
  return true
}
