import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { workos } from '../../../src/providers/index.ts'
import { delivery, NOW } from '../signed-sources.ts'

const SECRET = 'a-secret-of-32-characters-or-more'
const BODY = '{"id":"event_1","event":"user.created","data":{}}'
const source = workos({ secrets: [SECRET] })

const digest = (time: string) =>
  createHmac('sha256', SECRET).update(`${time}.${BODY}`).digest('hex')
const verdict = (header: string) => source.verify(delivery({ 'workos-signature': header }, BODY))
const aged = (ms: number) => {
  const time = String(NOW.getTime() - ms)
  return verdict(`t=${time}, v1=${digest(time)}`)
}

test('workos’s time counts in milliseconds, three minutes to either side', async () => {
  expect(await aged(180_000)).toMatchObject({ ok: true })
  expect(await aged(180_001)).toEqual({ ok: false, reason: 'stale' })
  // WorkOS's own library would let it in.
  expect(await aged(-180_001)).toEqual({ ok: false, reason: 'stale' })
  const seconds = String(NOW.getTime() / 1000)
  expect(await verdict(`t=${seconds}, v1=${digest(seconds)}`)).toEqual({
    ok: false,
    reason: 'malformed-timestamp',
  })
})

test('workos’s header has one time, and a signature in small letters', async () => {
  const time = String(NOW.getTime())
  const hex = digest(time)

  expect(await verdict(`t=${time}, v1=${hex}`)).toMatchObject({ ok: true })
  for (const header of [
    `t=${time}, t=${time}, v1=${hex}`,
    `t=${time}, v1=${hex.toUpperCase()}`,
    `t=${time}, v0=${hex}`,
    `v1=${hex}`,
    `t=${time}`,
    hex,
  ]) {
    expect([header, await verdict(header)]).toMatchObject([header, { ok: false }])
  }
})
