/**
 * Takes out of a text what looks like a secret: a password in a URL, a token behind its name, a key by the prefix
 * that its vendor gives it. For the errors of other people's code, which are kept and logged.
 *
 * A net for accidents. What looks like nothing in particular stays: where an error's message is built from what a
 * secret holds, no rule can tell.
 *
 * @module
 */

const REDACTED = '[redacted]'

const NAMES = 'password|passwd|secret|token|api[_-]?key'

/** Each with what stays of it. The quantifiers are bounded: the text may be a stranger's. */
const RULES: readonly (readonly [pattern: RegExp, kept: string])[] = [
  // The values of a query, as Drizzle puts them behind it.
  [/(\nparams: )[\s\S]*$/, `$1${REDACTED}`],
  // postgres://user:password@host
  [/([a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"']{1,300}@/gi, `$1${REDACTED}@`],
  [/\b(Bearer|Basic)\s{1,5}[\w.~+/=-]{6,5000}/gi, `$1 ${REDACTED}`],
  // A JSON Web Token.
  [/\beyJ[\w-]{5,5000}\.[\w-]{5,5000}\.[\w-]{5,5000}/g, REDACTED],
  [
    /\b(?:whsec_|hko_|[sr]k_(?:live|test)_|gh[pous]_|github_pat_|glpat-|xox[abprs]-|AKIA|SG\.)[\w.+/=-]{8,500}/g,
    REDACTED,
  ],
  // token=value
  [new RegExp(`((?:${NAMES})=)[^\\s&"',;]{1,500}`, 'gi'), `$1${REDACTED}`],
  // "password": "value"
  [new RegExp(`((?:${NAMES})["']\\s{0,3}:\\s{0,3}["'])[^"']{1,500}`, 'gi'), `$1${REDACTED}`],
  // A name that is no word of a sentence.
  [/(api[_-]key:\s{0,3})[^\s"',;]{1,500}/gi, `$1${REDACTED}`],
]

export function redactText(text: string): string {
  return RULES.reduce((redacted, [pattern, kept]) => redacted.replace(pattern, kept), text)
}
