import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { hmac, withSchemas } from '../../src/providers/index.ts'
import type {} from '../../src/testing/runners/vitest.ts'
import { hookonceMatchers, testInbox } from '../../src/testing/index.ts'

expect.extend(hookonceMatchers)

const OPTIONS = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: ['a-secret-of-more-than-16-bytes'],
  key: 'json:$.id',
  type: 'json:$.type',
} as const

const SCHEMAS = { 'order.paid': z.object({ cents: z.coerce.number() }) }

async function anInbox() {
  const seen: unknown[] = []
  const t = await testInbox({
    sources: { partner: withSchemas(hmac(OPTIONS), SCHEMAS) },
    credentials: { partner: OPTIONS },
    handlers: (inbox) => {
      inbox.on('partner', 'order.paid', (event) => seen.push(event.payload.cents))
      inbox.on('partner', '*', { name: 'own', schema: z.object({ id: z.string() }) }, (event) =>
        seen.push(event.payload.id),
      )
    },
  })
  onTestFinished(() => t.close())
  return { t, seen }
}

describe('a source with schemas', () => {
  test('gives its handlers what a schema puts out, and those with a schema of their own that', async () => {
    const { t, seen } = await anInbox()

    const paid = await t.deliver('partner', 'order.paid', { id: 'o1', payload: { cents: '5' } })
    await t.idle()

    await expect(paid).toBeDone()
    expect(seen).toEqual([5, 'o1'])
  })

  test('takes in what does not fit, and keeps it as dead with what is wrong', async () => {
    const { t, seen } = await anInbox()

    const paid = await t.deliver('partner', 'order.paid', { payload: { cents: 'many' } })
    await t.idle()

    expect(paid.answers.map((answer) => answer?.status)).toEqual([200])
    await expect(paid).toBeDead('The payload is not what the schema expects: cents: ')
    expect(seen).toEqual([])
  })

  test('leaves alone what it has no schema for, whatever its type is called', async () => {
    const { t, seen } = await anInbox()

    const other = await t.deliver('partner', 'constructor' as never, { id: 'o2', payload: {} })
    await t.idle()

    await expect(other).toBeDone()
    expect(seen).toEqual(['o2'])
  })

  test.each([
    [{}, 'withSchemas.schemas'],
    [{ 'order.paid': 5 }, 'withSchemas.schemas.order.paid'],
    [{ 'order.paid': undefined }, 'withSchemas.schemas.order.paid'],
  ])('refuses schemas that are none: %o', (schemas, option) => {
    expect(() => withSchemas(hmac(OPTIONS), schemas as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })
})
