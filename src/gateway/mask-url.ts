import { redactText } from '../telemetry/redact-text.ts'

const MASK = '***'

/**
 * A URL for screens: by its origin, its path and the names in its query a person knows it again. The rest may be a
 * credential, under whatever name. A text that is no URL stays as it is.
 */
export function maskUrl(text: string): string {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return text
  if (!URL.canParse(text)) return redactText(text)
  const { protocol, username, password, host, pathname, search, hash } = new URL(text)
  if (username + password + search + hash === '') return text
  const user = username + password === '' ? '' : `${MASK}@`
  const query = search === '' ? '' : `?${search.slice(1).split('&').map(maskValue).join('&')}`
  return `${protocol}//${user}${host}${pathname}${query}${hash === '' ? '' : `#${MASK}`}`
}

/** What stands there without a name is a value. */
function maskValue(part: string): string {
  const equals = part.indexOf('=')
  return equals < 1 ? MASK : `${part.slice(0, equals)}=${MASK}`
}
