/**
 * Strict decoding. Node's own decoders skip what they do not understand: `zz` is zero bytes of hex,
 * and base64 with junk in it decodes to something. One text, one value, or none at all.
 *
 * @module
 */

/** `lower-hex` for senders whose own libraries refuse capitals. */
export type SignatureEncoding = 'hex' | 'lower-hex' | 'base64' | 'base64url'

/** The bytes of a signature of any length up to a limit, for schemes whose signatures vary in length. */
export function decodeBounded(
  text: string,
  encoding: SignatureEncoding,
  byteLengthMax: number,
): Buffer | undefined {
  if (text === '' || text.length > byteLengthMax * 2) return undefined
  return DECODERS[encoding](text)
}

/** The bytes of a signature, or `undefined` when the text is not exactly that many bytes encoded. */
export function decodeSignature(
  text: string,
  encoding: SignatureEncoding,
  byteLength: number,
): Buffer | undefined {
  // Before any decoding, so that a megabyte of signature costs nothing.
  if (text.length > byteLength * 2) return undefined
  const bytes = DECODERS[encoding](text)
  return bytes?.byteLength === byteLength ? bytes : undefined
}

const DECODERS: Readonly<Record<SignatureEncoding, (text: string) => Buffer | undefined>> = {
  hex: decodeHex,
  'lower-hex': (text) => (text === text.toLowerCase() ? decodeHex(text) : undefined),
  base64: decodeBase64,
  base64url: decodeBase64Url,
}

// Mixed case is refused: no sender writes it, and with it one signature would have many spellings.
const HEX = /^(?:[0-9a-f]*|[0-9A-F]*)$/

export function decodeHex(text: string): Buffer | undefined {
  if (text.length % 2 !== 0 || !HEX.test(text)) return undefined
  return Buffer.from(text, 'hex')
}

/** With padding, and with zero bits where nothing is encoded: the one spelling an encoder gives. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Without padding, or with all of it. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  const unpadded = bytes.toString('base64url')
  if (text === unpadded) return bytes
  return text === unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, '=') ? bytes : undefined
}
