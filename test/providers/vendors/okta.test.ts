import { expect, test } from 'vitest'
import { okta } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'
import { delivery, NOW } from '../signed-sources.ts'

const SECRET = 'a-secret-of-32-characters-or-more'

test('okta’s secret may be in a header of one’s own, and then in no other', async () => {
  const source = okta({ secrets: [SECRET], header: 'X-Okta-Token' })

  expect(await source.verify(delivery({ 'x-okta-token': SECRET }))).toMatchObject({ ok: true })
  expect(await source.verify(delivery({ authorization: SECRET }))).toEqual({
    ok: false,
    reason: 'missing-header',
  })
  expect(source.securityHeaders).toEqual(['x-okta-token'])
})

test('okta’s deliveries can be signed in a header of one’s own', async () => {
  const header = 'x-okta-token'
  const signed = sign(okta, { at: NOW }, { secret: SECRET, options: { header } })

  expect(await okta({ secrets: [SECRET], header }).verify(signed)).toMatchObject({ ok: true })
})

test.each(['', 'two words', 'a:b', 'a\r\nb'])('okta’s header cannot be %j', (header) => {
  expect(() => okta({ secrets: [SECRET], header })).toThrow(/^okta(?:\.| has no )header/)
})

test('okta’s secret is verbatim: Bearer counts only where it was typed', async () => {
  const shown = delivery({ authorization: `Bearer ${SECRET}` })

  expect(await okta({ secrets: [SECRET] }).verify(shown)).toMatchObject({ ok: false })
  expect(await okta({ secrets: [`Bearer ${SECRET}`] }).verify(shown)).toMatchObject({ ok: true })
})

test('okta’s event is known by its uuid within its hook, not by the id of the delivery', () => {
  const source = okta({ secrets: [SECRET] })
  const identify = (hook: string, eventId: string) =>
    source.identify(
      delivery(
        {},
        JSON.stringify({
          eventType: 'com.okta.event_hook',
          eventId,
          source: hook,
          data: { events: [{ uuid: 'u1', eventType: 'user.session.start' }] },
        }),
      ),
    )

  expect(identify('hook-1', 'd1')).toEqual(identify('hook-1', 'd2'))
  expect(identify('hook-1', 'd1')).toMatchObject([{ key: 'u1', scope: 'hook-1' }])
  expect(identify('hook-2', 'd1')).toMatchObject([{ key: 'u1', scope: 'hook-2' }])
})
