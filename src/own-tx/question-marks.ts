/** `$1` as `?`, for libraries that know no other. Statements of ours use each placeholder once, and in order. */
export function withQuestionMarks(text: string): string {
  return text.replaceAll(/\$\d+/g, '?')
}
