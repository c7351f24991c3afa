/**
 * A request's headers as a delivery has them: lower-case names, and a list for what came twice.
 *
 * The object has no prototype, so that a header called `constructor` or `__proto__` is a header like
 * any other. In Node versions that we support, `headersDistinct` throws on `__proto__`, and one request
 * ends the process (CVE-2026-21710); `rawHeaders` has every header as it came.
 *
 * @module
 */

import type { DeliveryHeaders } from '../model/delivery.ts'

/** From Node's flat list of names and values. */
export function headersFromRaw(rawHeaders: readonly string[]): DeliveryHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase()
    // HTTP/2 puts the request line among the headers.
    if (name.startsWith(':')) continue
    const value = rawHeaders[index + 1] as string
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (typeof before === 'string') headers[name] = [before, value]
    else before.push(value)
  }
  return headers
}

/**
 * From the `Headers` of a `Request`, which has already joined what came twice: `evil` and `real` are
 * `evil, real` there, and nothing tells that from one header with a comma in it.
 *
 * An id or a timestamp never has a comma, a signature may (`t=1760000000, v1=9f…` is one value of
 * WorkOS). So a value that reads as several bare words is taken apart again, and `admit` refuses it
 * with 400 where one value was wanted: `evil, real` never becomes an event key. What has spaces,
 * quotes or `name=` in its parts is left as it is; there two joined values fail the signature.
 */
export function headersFromFetch(fetched: Headers): DeliveryHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>
  fetched.forEach((value, name) => {
    // A second value that was empty leaves its comma at the end, where the space is trimmed.
    const parts = value.split(/, |,$/)
    headers[name] = parts.length > 1 && parts.every((part) => BARE_WORD.test(part)) ? parts : value
  })
  return headers
}

/** No white space, no quote, and `=` only as the padding of base64. Empty: a header that came without a value. */
const BARE_WORD = /^[^\s"=]*={0,2}$/
