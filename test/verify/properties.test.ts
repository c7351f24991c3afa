import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import {
  headerOf,
  NOW,
  SIGNED_SOURCES,
  verdictOf,
  withHeaders,
} from '../providers/signed-sources.ts'

const arbitraryBody = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => Buffer.from(text)),
)

describe.each(SIGNED_SOURCES)('$name', ({ header, source, deliver }) => {
  const verifier = source()

  test('believes whatever was signed', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        expect(verdictOf(verifier, deliver({ body })).ok).toBe(true)
      }),
    )
  })

  test('refuses the body with any one byte changed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (body, at, flip) => {
          const signed = deliver({ body })
          const changed = Buffer.from(body)
          changed[at % body.length]! ^= flip

          expect(verdictOf(verifier, { ...signed, body: changed }).ok).toBe(false)
        },
      ),
    )
  })

  test('refuses the signature with any one character changed', () => {
    const signed = deliver()
    const signature = headerOf(signed, header)
    fc.assert(
      fc.property(fc.nat(signature.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = String.fromCharCode(signature.charCodeAt(at) ^ flip)
        const text = signature.slice(0, at) + changed + signature.slice(at + 1)

        expect(verdictOf(verifier, withHeaders(signed, { [header]: text })).ok).toBe(false)
      }),
    )
  })

  test('judges any headers and bytes without throwing, and believes none of them', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 3 }))
    const names = fc.constantFrom(
      ...verifier.securityHeaders,
      'content-type',
      '__proto__',
      'constructor',
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(names, value)), arbitraryBody, (entries, body) => {
        const headers = Object.fromEntries(entries) as Delivery['headers']
        const delivery = { method: 'POST', url: '/', headers, body, receivedAt: NOW }

        expect(verdictOf(verifier, delivery).ok).toBe(false)
      }),
    )
  })

  test('judges almost right headers without throwing', () => {
    const signed = deliver()
    const value = fc.oneof(
      fc.string(),
      fc.stringMatching(/^(t=\d{0,15},?|v1,|v1=|v1a,|sha256=|v=| ){0,5}[0-9a-fA-F+/=]{0,90}$/),
    )
    fc.assert(
      fc.property(fc.constantFrom(...verifier.securityHeaders), value, (name, text) => {
        expect(typeof verdictOf(verifier, withHeaders(signed, { [name]: text })).ok).toBe('boolean')
      }),
    )
  })

  test('R28: identifies the same bytes the same way every time, and never by an empty key', () => {
    fc.assert(
      fc.property(arbitraryBody, (body) => {
        const delivery = deliver({ body })
        const first = source().identify(delivery)

        expect(source().identify(structuredClone(delivery))).toEqual(first)
        expect(first.map(({ key }) => key)).not.toContain('')
      }),
    )
  })
})
