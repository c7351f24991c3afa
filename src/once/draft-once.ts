import { OptionInvalidError } from '../errors.ts'
import { digestOf, digestOfParts, keyDigestOf, UNKNOWN_CONTENT } from '../model/digest.ts'
import type { Digest } from '../model/digest.ts'
import { isSourceName } from '../model/source-name.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { OnceDraft } from '../store/contract/once.ts'

/** What a call of `inbox.once` is about. */
export interface OnceTerms {
  /**
   * Where the key comes from: the name of a queue, a job or an endpoint. It need not be one of the inbox's sources. If
   * it is, its webhooks have the same keys.
   */
  readonly source: string
  /** What tells one piece of work from another: the id of a message, a date, an `Idempotency-Key`. Up to 4,096 characters. */
  readonly key: string
  /**
   * Whose key it is, where two may use the same: an account, a tenant. Left out, a key stands for one piece of work
   * of the whole source.
   */
  readonly scope?: string
  /**
   * What operators see as the type of the event.
   *
   * @defaultValue 'once'
   */
  readonly type?: string
  /**
   * Kept as the body of the event, where operators see it, and compared: the same key with another payload is a
   * `conflict`. Bytes and text as they are, anything else as JSON. Left out, nothing is kept and every payload is the same.
   */
  readonly payload?: unknown
  /** Compared in place of the payload, and not kept: where parts of the payload differ between two tries. */
  readonly fingerprint?: string | Uint8Array
  /**
   * What to do while another transaction has claimed the key and has not ended: `'wait'` for its end, as long as your
   * `lock_timeout` lets it, or `'refuse'`, which returns `running`. SQLite has one writer and waits at BEGIN.
   *
   * @defaultValue 'wait'
   */
  readonly onConcurrent?: 'wait' | 'refuse'
}

const NAMES = ['source', 'key', 'scope', 'type', 'payload', 'fingerprint', 'onConcurrent']
const KEY_LENGTH_MAX = 4_096
const TYPE_LENGTH_MAX = 255
const PAYLOAD_BYTES_MAX = 1_048_576

/** @throws OptionInvalidError */
export function draftOnce(terms: OnceTerms): {
  readonly draft: OnceDraft
  readonly mayWait: boolean
} {
  rejectUnknownKeys('once', terms, NAMES)
  const { source, key, scope, type = 'once', payload, fingerprint, onConcurrent = 'wait' } = terms
  if (typeof source !== 'string' || !isSourceName(source))
    throw new OptionInvalidError(
      'once.source',
      'a name of up to 63 characters: a-z, 0-9, _ and -',
      source,
    )
  requireText('once.key', key, KEY_LENGTH_MAX)
  if (scope !== undefined) requireText('once.scope', scope, KEY_LENGTH_MAX)
  requireText('once.type', type, TYPE_LENGTH_MAX)
  requireOneOf('once.onConcurrent', onConcurrent, ['wait', 'refuse'])
  const kept = readPayload(payload)
  const draft: OnceDraft = {
    source,
    key,
    type,
    keyHash: keyDigestOf(source, scope, key),
    fingerprint: fingerprintOf(fingerprint, payload === undefined ? undefined : kept.body),
    ...kept,
  }
  return { draft, mayWait: onConcurrent === 'wait' }
}

function requireText(option: string, value: unknown, lengthMax: number): void {
  if (typeof value === 'string' && value.length > 0 && value.length <= lengthMax) return
  // A key may be a stranger's, and as long as a header can be: it is not repeated in the message.
  const received = typeof value === 'string' ? value.slice(0, 20) : value
  throw new OptionInvalidError(option, `a text of 1 to ${lengthMax} characters`, received)
}

function readPayload(payload: unknown): Pick<OnceDraft, 'body' | 'contentType'> {
  const { body, contentType } = writePayload(payload)
  if (body.byteLength <= PAYLOAD_BYTES_MAX) return { body, contentType }
  const expected = `no more than ${PAYLOAD_BYTES_MAX} bytes; give a fingerprint of it instead`
  throw new OptionInvalidError('once.payload', expected, body.byteLength)
}

function writePayload(payload: unknown): Pick<OnceDraft, 'body' | 'contentType'> {
  if (payload === undefined) return { body: new Uint8Array(), contentType: undefined }
  if (payload instanceof Uint8Array) return { body: payload, contentType: undefined }
  if (typeof payload === 'string') return { body: Buffer.from(payload), contentType: undefined }
  const text: string | undefined = JSON.stringify(payload)
  if (text === undefined)
    throw new OptionInvalidError('once.payload', 'bytes, text, or what JSON can hold', payload)
  return { body: Buffer.from(text), contentType: 'application/json' }
}

/** Without anything to compare, every call with the key is the same. */
function fingerprintOf(given: OnceTerms['fingerprint'], body: Uint8Array | undefined): Digest {
  if (given === undefined) return body === undefined ? UNKNOWN_CONTENT : digestOf(body)
  if (typeof given === 'string') return digestOfParts('fingerprint', given)
  if (given instanceof Uint8Array) return digestOf(given)
  throw new OptionInvalidError('once.fingerprint', 'a text, or bytes', given)
}
