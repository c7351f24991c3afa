/**
 * Makes a sender's text harmless in a terminal and in a log line: control characters (ESC and the C1
 * range start terminal sequences), line separators and bidirectional marks become `\uXXXX`.
 */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${code}`
  })
}

const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g
