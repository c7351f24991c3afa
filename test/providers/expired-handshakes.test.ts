import { describe, expect, test } from 'vitest'
import type { Acknowledgement } from '../../src/model/acknowledgement.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { admit } from '../../src/receive/admit.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { CHECKED_AT, makeSubject } from '../../src/testing/check-subject.ts'
import type { Configuration } from '../../src/testing/fixture.ts'
import { NOW, post } from './bare-delivery.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

describe('R65: a secret whose time is over answers no handshake', () => {
  for (const [slug, provider] of PROVIDERS) {
    if (provider.definition.handshake === undefined) continue
    test(slug, async () => {
      const one = await findCase(slug)
      if (one === undefined) throw new Error(`${slug} has no case`)
      const { make, own, other, deliver } = makeSubject(provider, one)
      for (const { options, answer: wanted, deliver: request } of one.handshakes ?? []) {
        if (wanted === 'refuse') continue
        const given = { ...own.options, ...options } as { secrets?: readonly Given[] }
        // A verifyToken, or a key of the sender's, has no end.
        if (given.secrets === undefined) continue
        const delivery = { ...post(''), receivedAt: NOW, ...request(deliver) }
        const secrets = given.secrets.map((secret) => endAt(secret, delivery.receivedAt))

        const answerWith = (more: object): Promise<Acknowledgement> =>
          answer(make(own, { ...options, ...more }), delivery)
        const live = await answerWith({})
        const ofAnother = await answerWith({ secrets: listSecrets(other) })
        const ended = await answerWith({ secrets })

        expect(live.outcome).toBe('handshake')
        // Some show no secret and ask for no proof of one: any endpoint may answer those.
        const needsNone = ofAnother.outcome === 'handshake' && ofAnother.body === live.body
        expect(ended.outcome).toBe(needsNone ? 'handshake' : 'refused')
      }
    })
  }
})

type Given = string | { readonly value: string; readonly until?: Date }

function listSecrets({ options }: Configuration): readonly Given[] {
  return (options as { secrets?: readonly Given[] }).secrets ?? []
}

function endAt(secret: Given, at: Date): Given {
  const labelled = typeof secret === 'string' ? { value: secret } : secret
  return { ...labelled, until: new Date(Math.min(at.getTime(), CHECKED_AT.getTime()) - 1) }
}

async function answer(source: Source, delivery: Delivery): Promise<Acknowledgement> {
  const context = {
    sources: new Map([['source', source]]),
    options: { bodyBytesMax: 1_048_576, eventsMax: 100 },
    happenings: new HappeningEmitter(),
  }
  const admission = await admit(context, 'source', delivery)
  if ('answer' in admission) return admission.answer
  throw new Error('A handshake was taken for an event')
}
