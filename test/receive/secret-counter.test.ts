import { describe, expect, test } from 'vitest'
import type { SecretUse } from '../../src/model/secret-use.ts'
import type { Source } from '../../src/model/source.ts'
import { SecretCounter } from '../../src/receive/secret-counter.ts'
import { hmac } from '../../src/providers/hmac.ts'

const SIGNED = { header: 'x-signature', algorithm: 'sha256', encoding: 'hex', key: 'body' } as const
const SOURCES: ReadonlyMap<string, Source> = new Map([
  ['stripe', hmac({ ...SIGNED, secrets: [{ value: 'a secret of some length', label: 'new' }] })],
])
const AN_HOUR = 3_600_000

describe('the counter of secret uses', () => {
  test('writes many deliveries at once', async () => {
    const written: (readonly SecretUse[])[] = []
    const counter = new SecretCounter(SOURCES, async (uses) => void written.push(uses), AN_HOUR)

    for (let nth = 0; nth < 1_000; nth += 1) counter.count('stripe', 'new', new Date(nth))
    await counter.flush()
    await counter.flush()

    expect(written).toEqual([
      [
        {
          source: 'stripe',
          label: 'new',
          deliveries: 1_000,
          lastUsedAt: new Date(999),
          until: undefined,
        },
      ],
    ])
  })

  test('keeps what could not be written, and writes it with the next', async () => {
    const written: (readonly SecretUse[])[] = []
    let isAway = true
    const counter = new SecretCounter(
      SOURCES,
      async (uses) => {
        if (isAway) throw new Error('the database is away')
        written.push(uses)
      },
      AN_HOUR,
    )
    counter.count('stripe', 'new', new Date(1))
    await counter.flush()

    isAway = false
    counter.count('stripe', 'new', new Date(2))
    await counter.flush()

    expect(written).toMatchObject([[{ deliveries: 2, lastUsedAt: new Date(2) }]])
  })

  test('has every configured secret listed, without a delivery', async () => {
    const written: (readonly SecretUse[])[] = []
    const counter = new SecretCounter(SOURCES, async (uses) => void written.push(uses), AN_HOUR)

    counter.announce()
    await counter.stop()

    expect(written).toMatchObject([[{ label: 'new', deliveries: 0, lastUsedAt: undefined }]])
  })
})
