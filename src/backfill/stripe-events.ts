import { JsonBody } from '../body/json-body.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { BackfillClient, BackfillEvent } from './backfill-client.ts'
import { Api, API_OPTIONS, BackfillStoppedError } from './call-api.ts'
import type { ApiOptions } from './call-api.ts'
import { readPage, requireBaseUrl, requireText } from './read-answer.ts'

/** What `stripeEvents` is configured with. */
export interface StripeEventsOptions extends ApiOptions {
  /** A secret or restricted key that may read events. */
  readonly apiKey: string
  /**
   * The connected account whose events are wanted, `acct_…`.
   *
   * @defaultValue the account that the key is of
   */
  readonly account?: string
  /**
   * For a proxy or a test.
   *
   * @defaultValue 'https://api.stripe.com'
   */
  readonly baseUrl?: string
}

const NAME = 'stripeEvents'
const PAGE = 100
const KEPT_DAYS = 30

/** What happened by Stripe's own account of it, which goes back 30 days. */
export function stripeEvents(options: StripeEventsOptions): BackfillClient {
  rejectUnknownKeys(NAME, options, ['apiKey', 'account', 'baseUrl', ...API_OPTIONS])
  const { apiKey, account, baseUrl = 'https://api.stripe.com' } = options
  requireText(`${NAME}.apiKey`, apiKey)
  if (account !== undefined) requireText(`${NAME}.account`, account)
  const base = `${requireBaseUrl(`${NAME}.baseUrl`, baseUrl)}/v1/events`
  const api = new Api('Stripe', options, {
    authorization: `Bearer ${apiKey}`,
    ...(account !== undefined && { 'stripe-account': account }),
  })

  return {
    keptDays: KEPT_DAYS,
    list: async ({ since, until, cursor, signal }) => {
      const url = new URL(base)
      url.searchParams.set('limit', String(PAGE))
      url.searchParams.set('created[gte]', String(Math.floor(since.getTime() / 1_000)))
      url.searchParams.set('created[lte]', String(Math.ceil(until.getTime() / 1_000)))
      if (cursor !== undefined) url.searchParams.set('starting_after', cursor)
      const { body } = await api.get(url, signal)
      const events = readPage('Stripe', body, ['data']).flatMap((one) => readEvent(one) ?? [])
      const hasMore = JsonBody.find(body)?.findValue(['has_more']) === true
      if (!hasMore) return { events, next: undefined }
      const next = events.at(-1)?.key
      // A page from which there is no way on is not the last one.
      if (next === undefined)
        throw new BackfillStoppedError('Stripe says that there is more, and named no event', {})
      return { events, next }
    },
  }
}

/** An event of the API is the body of its delivery, but for spaces and for what Stripe counts up. */
function readEvent(bytes: Uint8Array): BackfillEvent | undefined {
  const event = JsonBody.find(bytes)
  const key = event?.findText(['id'])
  const type = event?.findText(['type'])
  const created = event?.findValue(['created'])
  if (key === undefined || type === undefined || typeof created !== 'number') return undefined
  const headers = { 'content-type': 'application/json' }
  return {
    key,
    type,
    occurredAt: new Date(created * 1_000),
    load: async () => ({ headers, body: bytes }),
  }
}
