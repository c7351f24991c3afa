import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHECKED_AT, makeSubject, sampleKey } from '../../src/testing/check-subject.ts'
import { openReceivingInbox } from '../support/receiving-inbox.ts'
import { changeArbitrary } from './change-delivery.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

/** Other changes in each run of the suite: few are enough for one that breaks a rule to be found soon. */
const RUNS = 50
/** Names for the smaller changes that are tried after a failure. Past them the first comes round again. */
const SHRINKS = 100

/** Senders whose events have nothing to be known by but their arrival, and why a second run is right. */
const KNOWN_BY_ARRIVAL: Readonly<Record<string, string>> = {
  dropbox:
    'a signal has no id and no time: were equal signals one event, changes would be lost; a run too many finds nothing new behind the cursor',
}

/** Senders that sign nothing and show a token: an attacker who has captured a request can make others. */
const SHOW_A_TOKEN = [
  'auth0',
  'chargebee',
  'figma',
  'mailchimp',
  'microsoft_graph',
  'okta',
  'postmark',
  'telegram',
]

/** Options of a case that show a token beside the signature. */
const WITHOUT_TOKEN: Readonly<Record<string, object>> = { segment: { authorization: undefined } }

/**
 * One captured request runs once, whatever is changed in it. A change that is signed is refused; any
 * other leaves a duplicate, a conflict or something quarantined. Where nothing is signed the body stays as
 * it is.
 */
describe('R53: of one captured request no change makes a second run', () => {
  test('there is something signed wherever the body is changed', () => {
    for (const slug of SHOW_A_TOKEN) {
      expect(PROVIDERS.get(slug)?.definition.verify.summary).toContain('nothing is signed')
    }
  })

  test.each([...PROVIDERS])('%s', async (slug, provider) => {
    const one = await findCase(slug)
    if (one === undefined) throw new Error(`no case of ${slug}`)
    const { own, make, deliver, types } = makeSubject(provider, one)
    const source = make(own, WITHOUT_TOKEN[slug])
    const names = Array.from({ length: RUNS + SHRINKS }, (_, n) => `source-${n}`)
    const sources = Object.fromEntries(names.map((name) => [name, source]))
    const { receive, inbox } = await openReceivingInbox(sources)
    let accepted = 0
    inbox.events.on('delivery.accepted', () => (accepted += 1))
    const change = changeArbitrary({
      source,
      body: !SHOW_A_TOKEN.includes(slug),
      laterSeconds: slug in KNOWN_BY_ARRIVAL ? 0 : 20,
    })
    let n = 0

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...types),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (type, changes) => {
          // A source of its own for each: of one source, a change could make the key of a later request.
          const name = `source-${n % names.length}`
          n += 1
          // Some bodies have nothing of their own but the time.
          const at = new Date(CHECKED_AT.getTime() + n * 1000)
          const captured = deliver({ type, key: sampleKey(one.fixture, 100_000 + n), at })
          expect(['accepted', 'handshake']).toContain(await receive(name, captured))
          const before = accepted

          const changed = changes.reduce((delivery, { apply }) => apply(delivery), captured)
          await receive(name, changed)

          expect(accepted).toBe(before)
        },
      ),
      { numRuns: RUNS },
    )
  })
})
