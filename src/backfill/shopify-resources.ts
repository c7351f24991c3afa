import { JsonBody } from '../body/json-body.ts'
import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { BackfillClient, BackfillEvent } from './backfill-client.ts'
import { Api, API_OPTIONS } from './call-api.ts'
import type { ApiOptions } from './call-api.ts'
import { findNextParameter, readPage, requireBaseUrl, requireText } from './read-answer.ts'

/** What `shopifyResources` is configured with. */
export interface ShopifyResourcesOptions extends ApiOptions {
  /** `octo.myshopify.com` */
  readonly shop: string
  /** The access token of the app, shown as `X-Shopify-Access-Token`. */
  readonly accessToken: string
  /** The version of the Admin API, such as `'2026-10'`. Shopify takes each away after a year. */
  readonly apiVersion: string
  /** What to list, and the topic that its events shall have: `{ orders: 'orders/updated' }`. */
  readonly resources: Readonly<Record<string, string>>
  /**
   * Whether you have a resource in this state already. Shopify keeps no list of what it has sent, so only your own
   * tables can tell.
   *
   * @defaultValue you have none of them: the handler runs for each, and has to set state
   */
  readonly has?: (resource: unknown) => boolean | Promise<boolean>
  /**
   * For a proxy or a test.
   *
   * @defaultValue `https://` and the shop
   */
  readonly baseUrl?: string
}

const NAME = 'shopifyResources'
const PAGE = 250

/**
 * The state of a shop's resources that were changed since a time, each as an event of its own.
 *
 * Shopify has no list of its webhooks. The key is made of the resource, its id and when it was changed, so a second
 * back-fill takes nothing in twice; it is not the key that the webhook had.
 */
export function shopifyResources(options: ShopifyResourcesOptions): BackfillClient {
  rejectUnknownKeys(NAME, options, [
    'shop',
    'accessToken',
    'apiVersion',
    'resources',
    'has',
    'baseUrl',
    ...API_OPTIONS,
  ])
  const { shop, accessToken, apiVersion, resources, has = () => false } = options
  requireText(`${NAME}.shop`, shop)
  requireText(`${NAME}.accessToken`, accessToken)
  if (typeof apiVersion !== 'string' || !/^(?:\d{4}-\d{2}|unstable)$/.test(apiVersion))
    throw new OptionInvalidError(`${NAME}.apiVersion`, 'a version such as "2026-10"', apiVersion)
  const names = requireResources(resources)
  const host = requireBaseUrl(`${NAME}.baseUrl`, options.baseUrl ?? `https://${shop}`)
  const base = `${host}/admin/api/${apiVersion}`
  const api = new Api('Shopify', options, { 'x-shopify-access-token': accessToken })

  return {
    list: async ({ since, until, cursor, signal }) => {
      const { resource, pageInfo } = readCursor(names, cursor)
      const url = new URL(`${base}/${resource}.json`)
      url.searchParams.set('limit', String(PAGE))
      // With the place of a page nothing else may be asked for.
      if (pageInfo !== undefined) url.searchParams.set('page_info', pageInfo)
      else {
        url.searchParams.set('updated_at_min', since.toISOString())
        url.searchParams.set('updated_at_max', until.toISOString())
        if (resource === 'orders') url.searchParams.set('status', 'any')
      }
      const { body, headers } = await api.get(url, signal)
      const events: BackfillEvent[] = []
      for (const bytes of readPage('Shopify', body, [resource])) {
        const event = readResource(bytes, { shop, resource, topic: resources[resource] as string })
        if (event !== undefined && !(await has(JsonBody.find(bytes)?.findValue([]))))
          events.push(event)
      }
      return { events, next: findNextPage(names, resource, headers) }
    },
  }
}

/** A text that only this file reads. */
function findNextPage(
  names: readonly string[],
  resource: string,
  headers: Headers,
): string | undefined {
  const pageInfo = findNextParameter(headers, 'page_info')
  if (pageInfo !== undefined) return `${resource} ${pageInfo}`
  return names[names.indexOf(resource) + 1]
}

function readCursor(
  names: readonly string[],
  cursor: string | undefined,
): { readonly resource: string; readonly pageInfo: string | undefined } {
  const [resource = '', pageInfo] = (cursor ?? names[0] ?? '').split(' ')
  if (names.includes(resource)) return { resource, pageInfo }
  throw new OptionInvalidError('inbox.backfill.cursor', 'the cursor of a report', cursor)
}

function readResource(
  bytes: Uint8Array,
  { shop, resource, topic }: { shop: string; resource: string; topic: string },
): BackfillEvent | undefined {
  const body = JsonBody.find(bytes)
  // From the text: these numbers are past what JavaScript counts exactly.
  const id = body?.findText(['id'])
  const updatedAt = body?.findText(['updated_at'])
  const occurredAt = new Date(updatedAt ?? Number.NaN)
  if (id === undefined || !Number.isFinite(occurredAt.getTime())) return undefined
  const key = `backfill:${resource}:${id}:${updatedAt}`
  const headers = {
    'content-type': 'application/json',
    'x-shopify-event-id': key,
    'x-shopify-topic': topic,
    'x-shopify-shop-domain': shop,
    'x-shopify-triggered-at': occurredAt.toISOString(),
  }
  return { key, type: topic, occurredAt, load: async () => ({ headers, body: bytes }) }
}

function requireResources(resources: unknown): readonly string[] {
  const entries =
    typeof resources === 'object' && resources !== null ? Object.entries(resources) : []
  const isGood = entries.every(
    ([name, topic]) => /^[a-z_]+$/.test(name) && typeof topic === 'string' && topic !== '',
  )
  if (entries.length > 0 && isGood) return entries.map(([name]) => name)
  throw new OptionInvalidError(
    `${NAME}.resources`,
    'resources and their topics, such as { orders: "orders/updated" }',
    resources,
  )
}
