import { describe, expect, test } from 'vitest'
import { decodeSignature } from '../../src/verify/decode.ts'
import type { SignatureEncoding } from '../../src/verify/decode.ts'

const BYTES = Buffer.from('fb7f00ff', 'hex')

describe('a signature', () => {
  test.each<[SignatureEncoding, string, string?]>([
    ['hex', 'fb7f00ff'],
    ['hex', 'FB7F00FF'],
    ['base64', '+38A/w=='],
    ['base64url', '-38A_w'],
    ['base64url', '-38A_w=='],
  ])('in %s is decoded from %s', (encoding, text) => {
    expect(decodeSignature(text, encoding, 4)).toEqual(BYTES)
  })

  test.each<[SignatureEncoding, string, string?]>([
    ['hex', '', 'nothing'],
    ['hex', 'fb7f00', 'too short'],
    ['hex', 'fb7f00ff00', 'too long'],
    ['hex', 'fb7f00f', 'half a byte'],
    ['hex', 'fb7f00zz', 'junk'],
    ['hex', 'fB7f00ff', 'mixed case'],
    ['hex', ' fb7f00ff', 'a space'],
    ['hex', 'fb7f00ffé', 'not ASCII'],
    ['base64', '', 'nothing'],
    ['base64', '+38A/w', 'no padding'],
    ['base64', '+38A/x==', 'stray bits at the end'],
    ['base64', '+38A!/w==', 'junk'],
    ['base64', '-38A_w==', 'the other alphabet'],
    ['base64', '+38A/w==\n', 'a newline'],
    ['base64url', '+38A/w', 'the other alphabet'],
    ['base64url', '-38A_x', 'stray bits at the end'],
    ['base64url', '-38A_w=', 'half of the padding'],
  ])('in %s %j is refused: %s', (encoding, text) => {
    expect(decodeSignature(text, encoding, 4)).toBeUndefined()
  })
})
