import { describe, expect, test } from 'vitest'
import { webflow } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const secret = 'a secret of this webhook'
const source = webflow({ secrets: [secret] })
const NOW = 1_760_000_000_000

function keyOf(triggerType: string, payload: object, at = NOW): string | undefined {
  const body = { triggerType, payload }
  return source.identify(sign('webflow', { body, at: new Date(at) }, { secret }))[0]?.key
}

describe('Webflow', () => {
  const item = { id: 'item', lastUpdated: '2025-10-09T08:53:20.000Z', lastPublished: null }

  test.each([
    ['form_submission', { id: 'a' }, { id: 'b' }],
    ['site_publish', { siteId: 's', publishedOn: 'a' }, { siteId: 's', publishedOn: 'b' }],
    ['page_metadata_updated', { pageId: 'p', lastUpdated: 'a' }, { pageId: 'p', lastUpdated: 'b' }],
    ['page_created', { pageId: 'p' }, { pageId: 'q' }],
    ['ecomm_new_order', { orderId: 'a' }, { orderId: 'b' }],
    ['collection_item_changed', item, { ...item, lastUpdated: '2025-10-09T08:53:21.000Z' }],
    ['collection_item_changed', { ...item, cmsLocaleId: 'de' }, { ...item, cmsLocaleId: 'fr' }],
    ['collection_item_published', item, { ...item, lastPublished: '2025-10-09T09:00:00.000Z' }],
    ['collection_item_deleted', { id: 'a' }, { id: 'b' }],
    [
      'comment_created',
      { threadId: 't', commentId: 'a', pageId: 'p', createdOn: 'a' },
      { threadId: 't', commentId: 'b', pageId: 'p', createdOn: 'a' },
    ],
  ])('knows a %s whenever it is sent, and tells it from another', (trigger, one, other) => {
    expect(keyOf(trigger, one, NOW + 600_000)).toBe(keyOf(trigger, one))
    expect(keyOf(trigger, other)).not.toBe(keyOf(trigger, one))
  })

  test('tells the triggers of one object apart', () => {
    const triggers = ['created', 'changed', 'deleted', 'published', 'unpublished']
    const keys = triggers.map((name) => keyOf(`collection_item_${name}`, item))

    expect(new Set(keys).size).toBe(5)
  })

  test.each([
    ['ecomm_inventory_changed', { id: 'sku', quantity: 5, inventoryType: 'finite' }],
    ['ecomm_order_changed', { orderId: 'o', status: 'fulfilled', acceptedOn: 'a' }],
    ['a_trigger_to_come', { id: 'x', lastUpdated: 'a' }],
    ['form_submission', { siteId: 's', submittedAt: 'a' }],
  ])('never takes two equal %s for one: it has no time of its own', (trigger, payload) => {
    expect(keyOf(trigger, payload)).toBe(keyOf(trigger, payload))
    expect(keyOf(trigger, payload, NOW + 1)).not.toBe(keyOf(trigger, payload))
    expect(keyOf(trigger, { ...payload, more: 1 })).not.toBe(keyOf(trigger, payload))
  })

  test('has no time for a change of an order, whose acceptedOn is older', () => {
    const occurredAtOf = (triggerType: string) => {
      const body = {
        triggerType,
        payload: { orderId: 'o', acceptedOn: '2025-10-09T08:53:20.000Z' },
      }
      return source.identify(sign('webflow', { body }, { secret }))[0]?.occurredAt
    }

    expect(occurredAtOf('ecomm_new_order')).toEqual(new Date(NOW))
    expect(occurredAtOf('ecomm_order_changed')).toBeUndefined()
  })
})
