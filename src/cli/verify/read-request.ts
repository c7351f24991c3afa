/**
 * A request from files, with the bytes of its body as they are.
 *
 *     POST /in/stripe HTTP/1.1
 *     stripe-signature: t=1763262000,v1=…
 *
 *     {"id":"evt_1"}
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { Delivery } from '../../index.ts'
import { readNamedFile } from '../read-named-file.ts'

/** Where it is: in one file, or in one for the headers and one for the body. */
export interface RequestFiles {
  readonly request?: string
  readonly headers?: string
  readonly body?: string
}

/** @throws OptionInvalidError for files that are no request */
export function readRequest(folder: string, files: RequestFiles, receivedAt: Date): Delivery {
  const { request, headers, body } = files
  if (request !== undefined && headers === undefined && body === undefined)
    return { ...splitRequest(readNamedFile(folder, '--request', request)), receivedAt }
  if (request === undefined && headers !== undefined && body !== undefined)
    return {
      method: 'POST',
      url: '/',
      headers: readHeaders(
        readNamedFile(folder, '--headers', headers).toString('latin1').split(/\r?\n/),
      ),
      body: readNamedFile(folder, '--body', body),
      receivedAt,
    }
  throw new OptionInvalidError('verify', {
    message:
      'Give the request as one file (--request delivery.http), or its headers and its body (--headers head.txt --body body.json).',
  })
}

function splitRequest(bytes: Buffer): Omit<Delivery, 'receivedAt'> {
  // The head ends at the first empty line, and the body is every byte after it.
  const end = /\r?\n\r?\n/.exec(bytes.toString('latin1'))
  if (end === null)
    throw new OptionInvalidError('--request', {
      message: 'The file has no empty line, which is where the headers end and the body begins.',
    })
  const lines = bytes.subarray(0, end.index).toString('latin1').split(/\r?\n/)
  const first = /^(?<method>[A-Z]+) (?<url>\S+)/.exec(lines[0] ?? '')?.groups
  const url = first?.['url'] ?? '/'
  return {
    method: first?.['method'] ?? 'POST',
    url: URL.canParse(url) ? new URL(url).pathname + new URL(url).search : url,
    headers: readHeaders(first === undefined ? lines : lines.slice(1)),
    body: bytes.subarray(end.index + end[0].length),
  }
}

/** `name: value` in each line. One that comes twice has two values. */
function readHeaders(lines: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string>
  for (const line of lines) {
    const parts = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?<value>.*?)[ \t]*$/.exec(
      line,
    )?.groups
    if (parts === undefined) continue
    const name = (parts['name'] as string).toLowerCase()
    const value = parts['value'] as string
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}
