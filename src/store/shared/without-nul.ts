/**
 * A text as both stores can keep it: PostgreSQL's has no NUL, and libsql cuts a text at one when it reads it. So a NUL
 * becomes the character that stands for what cannot be shown.
 */
export function withoutNul(value: string): string {
  return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}
