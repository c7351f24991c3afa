/**
 * A body read as a form.
 *
 * Some senders sign the fields and not the bytes, so that a form is read before it is verified.
 * It is therefore read once, on its bytes, and has an end: more fields, or more of names, than any sender has
 * make it no form. A value is decoded when it is asked for.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'

/** Twilio sends some dozens, Mailgun one for each header of a mail. */
const FIELDS_MAX = 1_000
const NAMES_BYTES_MAX = 131_072
/** Of the values of one name, where it came more than once: they are sorted. */
const REPEATED_BYTES_MAX = 65_536

/** The fields in the order they came, or `undefined` when the bytes are not UTF-8, or are too many fields. */
export function findFormFields(
  bytes: Uint8Array,
): readonly (readonly [string, string])[] | undefined {
  return FormBody.find(bytes)?.fields.map((field) => [field.name, field.text])
}

/** The one value of a field. A field that came twice has none: which one counts would be ours to guess. */
export function findFormField(bytes: Uint8Array, name: string): string | undefined {
  const values = FormBody.find(bytes)?.fields.filter((field) => field.name === name)
  return values?.length === 1 ? values[0]?.text : undefined
}

/** The names of the fields in the order they came, as `findFormFields` has them. */
export function findFormNames(bytes: Uint8Array): readonly string[] | undefined {
  return FormBody.find(bytes)?.fields.map(({ name }) => name)
}

/** The one value of a field, as `findFormField` has it, in UTF-8. */
export function findFormBytes(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const values = FormBody.find(bytes)?.fields.filter((field) => field.name === name)
  return values?.length === 1 ? values[0]?.value : undefined
}

/**
 * Every field as name and value, sorted by name, without anything between: what some senders sign
 * in place of the body. Equal pairs count once, and the values of one name are sorted.
 */
export function renderSortedForm(bytes: Uint8Array): Buffer | undefined {
  return FormBody.find(bytes)?.render()
}

const FORMS = new WeakMap<Uint8Array, FormBody>()

class FormBody {
  readonly fields: readonly FormField[]
  #rendered: Buffer | 'none' | undefined

  private constructor(fields: readonly FormField[]) {
    this.fields = fields
  }

  /** The same one for the same bytes. */
  static find(bytes: Uint8Array): FormBody | undefined {
    const known = FORMS.get(bytes)
    if (known !== undefined) return known
    const fields = isUtf8(bytes) ? cutFields(bytes) : undefined
    const form = fields && new FormBody(fields)
    if (form !== undefined) FORMS.set(bytes, form)
    return form
  }

  render(): Buffer | undefined {
    this.#rendered ??= renderFields(this.fields) ?? 'none'
    return this.#rendered === 'none' ? undefined : this.#rendered
  }
}

class FormField {
  readonly name: string
  readonly #bytes: Buffer
  #value: Buffer | undefined

  constructor(name: string, bytes: Buffer) {
    this.name = name
    this.#bytes = bytes
  }

  /** Decoded, in UTF-8. */
  get value(): Buffer {
    this.#value ??= decode(this.#bytes)
    return this.#value
  }

  get text(): string {
    return this.value.toString('utf8')
  }
}

/** As a URL's query is taken apart: what stands between two `&` is a field, and nothing is none. */
function cutFields(bytes: Uint8Array): readonly FormField[] | undefined {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields: FormField[] = []
  let start = 0
  let namesLength = 0
  for (let pieces = 0; start < body.length; pieces += 1) {
    if (pieces === FIELDS_MAX) return undefined
    const found = body.indexOf(AMPERSAND, start)
    const end = found === -1 ? body.length : found
    const piece = body.subarray(start, end)
    start = end + 1
    if (piece.length === 0) continue
    const equals = piece.indexOf(EQUALS)
    const name = equals === -1 ? piece : piece.subarray(0, equals)
    namesLength += name.length
    if (namesLength > NAMES_BYTES_MAX) return undefined
    const value = equals === -1 ? piece.subarray(piece.length) : piece.subarray(equals + 1)
    fields.push(new FormField(decode(name).toString('utf8'), value))
  }
  return fields
}

function renderFields(fields: readonly FormField[]): Buffer | undefined {
  const values = new Map<string, Buffer[]>()
  for (const { name, value } of fields) {
    // The sender signed text. What is none would be read as other text than what was signed.
    if (name.includes(NO_TEXT) || !isUtf8(value)) return undefined
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  const parts: Buffer[] = []
  for (const name of [...values.keys()].sort()) {
    const sorted = sortValues(values.get(name) ?? [])
    if (sorted === undefined) return undefined
    for (const value of sorted) parts.push(Buffer.from(name, 'utf8'), value)
  }
  return Buffer.concat(parts)
}

function sortValues(values: readonly Buffer[]): readonly Buffer[] | undefined {
  if (values.length === 1) return values
  const bytes = values.reduce((sum, { length }) => sum + length, 0)
  if (bytes > REPEATED_BYTES_MAX) return undefined
  const texts = new Set(values.map((value) => value.toString('utf8')))
  return [...texts].sort().map((text) => Buffer.from(text, 'utf8'))
}

/** `%41` and `+` as what they stand for. A `%` without two digits behind it is itself. */
function decode(bytes: Buffer): Buffer {
  // Natively, since most have neither and a few that are all of it must not cost a megabyte in steps of one.
  const percent = bytes.indexOf(PERCENT)
  const plus = bytes.indexOf(PLUS)
  if (percent === -1 && plus === -1) return bytes
  const first = percent === -1 ? plus : plus === -1 ? percent : Math.min(percent, plus)
  const decoded = Buffer.allocUnsafe(bytes.length)
  decoded.set(bytes.subarray(0, first))
  let length = first
  for (let at = first; at < bytes.length; at += 1) {
    const byte = bytes[at] as number
    if (byte !== PERCENT) {
      decoded[length++] = byte === PLUS ? SPACE : byte
      continue
    }
    const code = codeAt(bytes, at)
    decoded[length++] = code === -1 ? byte : code
    if (code !== -1) at += 2
  }
  return decoded.subarray(0, length)
}

/** The byte that two digits stand for, or -1. */
function codeAt(bytes: Buffer, percent: number): number {
  const high = DIGITS[bytes[percent + 1] ?? 0] as number
  const low = DIGITS[bytes[percent + 2] ?? 0] as number
  return high < 0 || low < 0 ? -1 : 16 * high + low
}

/** What a byte stands for as a hexadecimal digit, or -1. */
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase())
  return byte < 0x80 ? digit : -1
})

/** What bytes that are no UTF-8 are decoded to. */
const NO_TEXT = '\ufffd'

const SPACE = 0x20
const PERCENT = 0x25
const AMPERSAND = 0x26
const PLUS = 0x2b
const EQUALS = 0x3d
