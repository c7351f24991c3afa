import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { generateIndexes } from '../../scripts/generate-provider-indexes.ts'
import { draftEvents } from '../../src/receive/identity.ts'
import { makeSubject } from '../../src/testing/check-subject.ts'
import { listProviderChecks } from '../../src/testing/index.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

test('the lists of providers and fixtures are up to date', () => {
  for (const { file, text } of generateIndexes()) {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text)
  }
})

/** Of those that say where an event stands among others. */
const ordered = new Set<string>()

for (const [slug, provider] of PROVIDERS) {
  const one = await findCase(slug)
  test(`${slug} has a case`, () => {
    expect(one).toBeDefined()
  })
  if (one === undefined) continue
  describe(slug, () => {
    for (const { name, run } of listProviderChecks(provider, one)) {
      test(name, async () => {
        expect(await run()).toEqual([])
      })
    }

    // The kit looks at the bodies; this at all that is stored.
    test('does not keep a secret that came with the request', () => {
      const { own, types, source, deliver } = makeSubject(provider, one)
      const { secret = '' } = own.credentials
      if (secret === '') return
      const shown = [secret, Buffer.from(secret).toString('base64')]
      for (const type of types) {
        const delivery = deliver({ type })
        const verdict = { ok: true, secret: 'label' } as const
        const context = { sourceName: 'source', source, delivery, verdict }
        for (const draft of draftEvents(context, source.identify(delivery))) {
          const { body, request = body, headers } = draft
          const kept = Buffer.concat([body, request]).toString() + JSON.stringify(headers)

          for (const text of shown) expect(kept).not.toContain(text)
        }
      }
    })

    test('gives versions and sequences that have an order, and loses none', () => {
      const { types, source, deliver } = makeSubject(provider, one)
      for (const type of types) {
        const delivery = deliver({ type })
        const verdict = { ok: true, secret: 'label' } as const
        const events = source.identify(delivery)
        const drafts = draftEvents({ sourceName: 'source', source, delivery, verdict }, events)
        for (const [at, draft] of drafts.entries()) {
          for (const name of ['version', 'sequence'] as const) {
            if (events[at]?.[name] === undefined) continue
            ordered.add(slug)
            expect(draft[name]).toMatch(/^[nt]\d/)
          }
        }
      }
    })
  })
}

test('more than twenty providers say where an event stands among others', () => {
  expect(ordered.size).toBeGreaterThan(20)
})
