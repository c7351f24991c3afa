/**
 * Webflow: `x-webflow-signature: <hex>` over the time in `x-webflow-timestamp`, a colon and the body.
 *
 * There is no event id. Most events have the id of their object and the time of their change, and are
 * known by both. Changes of orders and of stock have no time: stock that goes from 5 to 4 and back has
 * equal bodies. Those are known by the time of the delivery, which is signed, so that none is lost; a
 * retry of one runs again if Webflow signs it anew.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Webflow's webhooks. An event is known by its trigger, its object and when that changed. */
export const webflow: Provider<WebflowOptions, WebflowEvents> = defineProvider({
  provider: 'webflow',
  verify: hmacSignature({
    signature: 'header:x-webflow-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    // Five minutes, its documents say; its own library asks for no window. Retries come ten minutes apart,
    // and whether their time is fresh is not documented.
    timestamp: {
      at: 'header:x-webflow-timestamp',
      format: 'milliseconds',
      toleranceSeconds: 300,
      outside: 'quarantine',
    },
    signed: '{timestamp}:{body}',
  }),
  key: [
    {
      all: [
        'json:$.triggerType',
        findObject,
        findChange,
        // An item has its id in every language, and may be published again as it was.
        { optional: 'json:$.payload.cmsLocaleId' },
        { optional: 'json:$.payload.lastPublished' },
      ],
    },
    { all: [{ optional: 'json:$.triggerType' }, 'header:x-webflow-timestamp', 'body'] },
  ],
  scope: 'json:$.payload.siteId',
  type: 'json:$.triggerType',
  occurredAt: findTime,
  retryWindowHours: 0.5,
  timeoutSeconds: 30,
})

/** What an event of Webflow carries, as far as it is typed here. */
export interface WebflowPayload {
  readonly triggerType: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, any>
}

/** `form_submission`, `collection_item_changed`, … */
export type WebflowEvents = Readonly<Record<string, WebflowPayload>>

/** What `webflow` is configured with. */
export type WebflowOptions = SecretOptions

interface Trigger {
  /** The members of the payload that may have the id of the object, in order. */
  readonly objects: readonly string[]
  /** The member that says when. */
  readonly time: string
  /** Whether it happens to an object once, so that its id is enough. */
  readonly isOnce?: true
}

/** An order has an `acceptedOn` in all its changes too, so those are not here. */
const TRIGGERS: Readonly<Record<string, Trigger>> = {
  form_submission: { objects: ['id'], time: 'submittedAt', isOnce: true },
  site_publish: { objects: ['siteId'], time: 'publishedOn' },
  page_created: { objects: ['pageId'], time: 'createdOn', isOnce: true },
  page_metadata_updated: { objects: ['pageId'], time: 'lastUpdated' },
  page_deleted: { objects: ['pageId'], time: 'deletedOn', isOnce: true },
  ecomm_new_order: { objects: ['orderId'], time: 'acceptedOn', isOnce: true },
  collection_item_created: { objects: ['id'], time: 'createdOn', isOnce: true },
  collection_item_changed: { objects: ['id'], time: 'lastUpdated' },
  collection_item_deleted: { objects: ['id'], time: 'lastUpdated', isOnce: true },
  collection_item_published: { objects: ['id'], time: 'lastUpdated' },
  collection_item_unpublished: { objects: ['id'], time: 'lastUpdated' },
  comment_created: { objects: ['commentId', 'threadId'], time: 'createdOn', isOnce: true },
}

function findTrigger({ json }: Reading): Trigger | undefined {
  const name = json?.findText(['triggerType']) ?? ''
  return Object.hasOwn(TRIGGERS, name) ? TRIGGERS[name] : undefined
}

function findObject(reading: Reading): string | undefined {
  for (const member of findTrigger(reading)?.objects ?? []) {
    const id = reading.json?.findText(['payload', member])
    if (id !== undefined) return id
  }
  return undefined
}

function findTime(reading: Reading): string | undefined {
  const trigger = findTrigger(reading)
  return trigger && reading.json?.findText(['payload', trigger.time])
}

/** What tells this event of the object from others of the same trigger. */
function findChange(reading: Reading): string | undefined {
  return findTrigger(reading)?.isOnce === true ? 'once' : findTime(reading)
}
