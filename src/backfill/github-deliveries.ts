import { JsonBody } from '../body/json-body.ts'
import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { BackfillClient, BackfillDelivery, BackfillEvent } from './backfill-client.ts'
import { Api, API_OPTIONS, BackfillStoppedError } from './call-api.ts'
import type { ApiOptions } from './call-api.ts'
import { findNextParameter, readPage, requireBaseUrl, requireText } from './read-answer.ts'

/** What `githubDeliveries` is configured with. */
export interface GithubDeliveriesOptions extends ApiOptions {
  /**
   * Shown as a bearer token: one that may read webhooks (`admin:repo_hook`, `admin:org_hook`, or "Webhooks: read"),
   * for the webhook of an app its JSON Web Token.
   */
  readonly token: string
  /** Whose webhook it is: `'octo/hello'`, an organization (`'octo'`), or `'app'` for that of the app itself. */
  readonly of: string
  /** The number of the webhook. Left out for an app, which has one. */
  readonly hookId?: number
  /**
   * For GitHub Enterprise Server: `https://HOST/api/v3`.
   *
   * @defaultValue 'https://api.github.com'
   */
  readonly baseUrl?: string
}

const NAME = 'githubDeliveries'
const PAGE = 100
const GITHUB = 'https://api.github.com'
/** Of github.com. A GitHub Enterprise Server has its own number. */
const KEPT_DAYS = 3

/**
 * What GitHub says it delivered to one webhook. GitHub keeps that for three days.
 *
 * Deliveries of one event share an id (`x-github-delivery`), which is the event key, so a redelivery is no second
 * event.
 */
export function githubDeliveries(options: GithubDeliveriesOptions): BackfillClient {
  rejectUnknownKeys(NAME, options, ['token', 'of', 'hookId', 'baseUrl', ...API_OPTIONS])
  const { token, of, hookId, baseUrl = GITHUB } = options
  requireText(`${NAME}.token`, token)
  const base = requireBaseUrl(`${NAME}.baseUrl`, baseUrl) + findPath(of, hookId)
  const api = new Api('GitHub', options, {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'user-agent': 'hookonce',
    'x-github-api-version': '2022-11-28',
  })

  return {
    ...(baseUrl === GITHUB && { keptDays: KEPT_DAYS }),
    list: async ({ since, cursor, signal }) => {
      const url = new URL(base)
      url.searchParams.set('per_page', String(PAGE))
      if (cursor !== undefined) url.searchParams.set('cursor', cursor)
      const { body, headers } = await api.get(url, signal)
      const page = readPage('GitHub', body, [])
      const events = page.flatMap((one) => readSummary(one, load) ?? [])
      // The latest come first, so what follows a page that begins too early is older still.
      const isPast = events.some(({ occurredAt }) => occurredAt < since)
      const next = isPast ? undefined : findNextParameter(headers, 'cursor')
      return { events, next }
    },
  }

  async function load(id: string, signal: AbortSignal | undefined): Promise<BackfillDelivery> {
    const { body } = await api.get(new URL(`${base}/${id}`), signal)
    return readDetails(body)
  }
}

interface Summary extends BackfillEvent {
  readonly occurredAt: Date
}

function readSummary(
  bytes: Uint8Array,
  load: (id: string, signal: AbortSignal | undefined) => Promise<BackfillDelivery>,
): Summary | undefined {
  const one = JsonBody.find(bytes)
  // From the text: these numbers are past what JavaScript counts exactly.
  const id = one?.findText(['id'])
  const key = one?.findText(['guid'])
  const type = one?.findText(['event'])
  const occurredAt = new Date(one?.findText(['delivered_at']) ?? Number.NaN)
  if (id === undefined || !/^\d+$/.test(id) || key === undefined || type === undefined) return
  if (!Number.isFinite(occurredAt.getTime())) return
  return { key, type, occurredAt, load: (signal) => load(id, signal) }
}

/** The payload as it stands in the answer, byte for byte. It need not be what was sent: GitHub has written it anew. */
function readDetails(bytes: Uint8Array): BackfillDelivery {
  const details = JsonBody.find(bytes)
  const headers = details?.findValue(['request', 'headers'])
  const [body] = details?.listSlices(['request', 'payload']) ?? []
  const payload = details?.findValue(['request', 'payload'])
  if (typeof headers !== 'object' || headers === null || typeof payload !== 'object' || !payload)
    throw new BackfillStoppedError('GitHub has no payload of this delivery any more', {})
  const texts = Object.entries(headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return {
    headers: {
      ...Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value])),
      // Also where the webhook sends forms: what the API shows is the JSON in them.
      'content-type': 'application/json',
    },
    body: body as Uint8Array,
  }
}

function findPath(of: string, hookId: number | undefined): string {
  if (of === 'app' && hookId === undefined) return '/app/hook/deliveries'
  if (!Number.isSafeInteger(hookId) || (hookId as number) < 1)
    throw new OptionInvalidError(`${NAME}.hookId`, 'the number of the webhook', hookId)
  if (typeof of !== 'string' || !/^[\w.-]+(?:\/[\w.-]+)?$/.test(of) || of.includes('..'))
    throw new OptionInvalidError(`${NAME}.of`, '"owner/repository", an organization or "app"', of)
  const owner = of.includes('/') ? `/repos/${of}` : `/orgs/${of}`
  return `${owner}/hooks/${hookId}/deliveries`
}
