/** Whether a text can be the name of an HTTP header (a token of RFC 9110), in lower case. */
export function isHeaderName(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(text)
}
