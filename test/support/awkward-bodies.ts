/** Bodies that do not survive being parsed, decoded or written again. */
export const AWKWARD_BODIES: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
  'JSON with odd white space': Buffer.from('{ "id" :\t"evt_1",\r\n "amount": 1.0, "amount": 1 }\n'),
  'JSON with escapes and é both ways': Buffer.from('{"a":"\\u00e9","b":"é","c":"\\/"}'),
  'JSON after a byte order mark': Buffer.from('\ufeff{"id":"evt_1"}'),
  'bytes that are not UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0xc3, 0x28, 0x80, 0x7d]),
  'no bytes at all': new Uint8Array(0),
}

/** Those of them that a JSON parser accepts, so that the request gets past it. */
export const PARSEABLE_BODIES: readonly Uint8Array<ArrayBuffer>[] = [
  AWKWARD_BODIES['JSON with odd white space'] as Uint8Array<ArrayBuffer>,
  AWKWARD_BODIES['JSON with escapes and é both ways'] as Uint8Array<ArrayBuffer>,
]
