import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { circleci, pagerduty } from '../../src/providers/index.ts'

const SECRET = 'a-secret-that-is-long-enough'
const body = Buffer.from('{"id":"1","event":{"id":"1"}}')
const GOOD = createHmac('sha256', SECRET).update(body).digest('hex')
const BAD = '0'.repeat(64)

function withHeader(name: string, value: string): Delivery {
  return { method: 'POST', url: '/', headers: { [name]: value }, body, receivedAt: new Date() }
}

/** One header, several entries: of secrets that are rotated, or of versions. */
describe('a list of signatures', () => {
  test.each([
    [`v1=${GOOD}`, true],
    [`v1=${BAD},v1=${GOOD}`, true],
    [`v1=${GOOD}, v1=${BAD}`, true],
    [`v1=${BAD},v1=${BAD}`, false],
    [`v2=${GOOD}`, false],
    [GOOD, false],
    [`v1=${GOOD};v1=${BAD}`, false],
    ['', false],
  ])('pagerduty takes any v1, the old secret’s or the new one’s: %s', async (value, ok) => {
    const source = pagerduty({ secrets: [SECRET] })

    expect(await source.verify(withHeader('x-pagerduty-signature', value))).toMatchObject({ ok })
  })

  test.each([
    [`v1=${GOOD}`, true],
    [`v1=${GOOD},v2=${BAD},v3=…`, true],
    [`v2=${BAD},v1=${GOOD}`, true],
    [`v1=${BAD},v2=${GOOD}`, false],
    [`v0=${GOOD}`, false],
    [`v1=${GOOD.toUpperCase()}`, false],
  ])('circleci takes the version it knows: %s', async (value, ok) => {
    const source = circleci({ secrets: [SECRET] })

    expect(await source.verify(withHeader('circleci-signature', value))).toMatchObject({ ok })
  })
})
