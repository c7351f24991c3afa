import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { adyen } from '../../../src/providers/index.ts'
import { deliver, expectOneKey, expectOwnKeys } from '../event-keys.ts'

describe('adyen', () => {
  const KEY = '0123456789ABCDEF'.repeat(4)
  const source = adyen({ secrets: [KEY] })
  const ITEM = {
    pspReference: '8814073381342285',
    originalReference: '',
    merchantAccountCode: 'ExampleMerchant',
    merchantReference: 'a:4200:EUR',
    amount: { value: 4200, currency: 'EUR' },
    eventCode: 'CAPTURE',
    success: 'true',
  }
  const hmac = (text: string) =>
    createHmac('sha256', Buffer.from(KEY, 'hex')).update(text).digest('base64')
  const wrap = (...items: readonly object[]) => ({
    live: 'false',
    notificationItems: items.map((item) => ({ NotificationRequestItem: item })),
  })
  const signed = '8814073381342285::ExampleMerchant:a:4200:EUR:4200:EUR:CAPTURE:true'
  const seal = (item: object) => ({ ...item, additionalData: { hmacSignature: hmac(signed) } })

  test('believes an item with colons in the merchant’s reference', async () => {
    expect(await source.verify(deliver(wrap(seal(ITEM))))).toMatchObject({ ok: true })
  })

  test.each([
    [
      'the reference into the account',
      { merchantAccountCode: 'ExampleMerchant:a:4200', merchantReference: 'EUR' },
    ],
    [
      'the reference into the amount',
      { merchantReference: 'a', amount: { value: '4200:EUR:4200', currency: 'EUR' } },
    ],
    [
      'the account into the references',
      {
        pspReference: '8814073381342285:',
        originalReference: 'ExampleMerchant',
        merchantAccountCode: 'a',
        merchantReference: '4200:EUR',
      },
    ],
  ])('refuses the same signed text cut otherwise: %s', async (_, change) => {
    expect(await source.verify(deliver(wrap(seal({ ...ITEM, ...change }))))).toMatchObject({
      ok: false,
    })
  })

  test.each([
    ['no items', wrap()],
    [
      'an item beside them without its name',
      { notificationItems: [...wrap(seal(ITEM)).notificationItems, { Other: ITEM }] },
    ],
    ['an unsigned item among signed ones', wrap(seal(ITEM), ITEM)],
    ['items that are no list', { notificationItems: { NotificationRequestItem: seal(ITEM) } }],
    ['no item at all', { type: 'balancePlatform.transfer.updated', data: { id: '1' } }],
  ])('refuses %s', async (_, body) => {
    expect(await source.verify(deliver(body))).toMatchObject({ ok: false })
  })

  test('refuses the signed text of an item as a body', async () => {
    const delivery = deliver(signed, { hmacsignature: hmac(signed) })

    expect(await source.verify(delivery)).toMatchObject({ ok: false })
  })

  test('refuses an item where the header’s signature is wrong', async () => {
    const delivery = deliver(wrap(seal(ITEM)), { hmacsignature: hmac('other') })

    expect(await source.verify(delivery)).toMatchObject({ ok: false })
  })

  test('knows an item by what is signed of it', () => {
    expectOneKey(
      source,
      wrap(ITEM),
      { ...wrap(ITEM), live: 'true' },
      wrap({ ...ITEM, eventDate: '2031-01-01T00:00:00Z', reason: 'changed' }),
    )
    expectOwnKeys(
      source,
      wrap(ITEM),
      wrap({ ...ITEM, success: 'false' }),
      wrap({ ...ITEM, eventCode: 'CAPTURE_FAILED' }),
      wrap({ ...ITEM, merchantAccountCode: 'OtherMerchant' }),
      wrap({ ...ITEM, originalReference: '7914073381342284' }),
    )
  })

  test('takes an item that another secret signed meanwhile for the same', () => {
    const contents = ['a', 'b'].map((hmacSignature) => {
      const [event] = source.identify(deliver(wrap({ ...ITEM, additionalData: { hmacSignature } })))
      return Buffer.from(event?.content ?? []).toString()
    })

    expect(contents[0]).toContain(ITEM.pspReference)
    expect(contents[1]).toBe(contents[0])
  })

  test('takes two updates of one platform object for two events', () => {
    const transfer = (sequenceNumber: number, status: string) => ({
      type: 'balancePlatform.transfer.updated',
      data: { balancePlatform: 'Example', id: '1W1UG35U8A9J5ZLG', sequenceNumber, status },
    })
    const account = (status: string) => ({
      type: 'balancePlatform.accountHolder.updated',
      data: { balancePlatform: 'Example', accountHolder: { id: 'AH1', status } },
      timestamp: '2025-10-09T08:53:20+02:00',
    })

    expectOwnKeys(
      source,
      transfer(1, 'authorised'),
      transfer(2, 'booked'),
      account('active'),
      account('suspended'),
    )
  })
})
