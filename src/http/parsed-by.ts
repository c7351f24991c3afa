import type { ParsedRequest } from './answer-node.ts'

/** The parser of each kind of body in one framework, as its users call it. */
export interface KnownParsers {
  readonly json: string
  readonly form: string
  readonly text: string
  readonly other: string
}

/**
 * Names who parsed a body, from its media type and what became of it.
 *
 * Only our own words come out: a header of the request is hostile text, and the hint goes to the log.
 */
export function parsedBy(parsers: KnownParsers, { headers, body, rawBody }: ParsedRequest): string {
  if (typeof rawBody === 'string') {
    return 'rawBody holds the body as a string, in which bytes that are not UTF-8 are lost: keep the Buffer instead'
  }
  return `${nameParser(parsers, headers['content-type'] ?? '', body)} read the body before Hookonce could see its bytes`
}

function nameParser(parsers: KnownParsers, contentType: string, body: unknown): string {
  if (body === undefined) return parsers.other
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return parsers.form
  if (/^multipart\//i.test(contentType)) return 'A multipart parser'
  if (typeof body === 'string') return parsers.text
  if (/^[^;]*[/+]json\b/i.test(contentType)) return parsers.json
  return parsers.other
}
