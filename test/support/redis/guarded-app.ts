import express from 'express'
import { onTestFinished } from 'vitest'
import { createGuard } from '../../../src/guard/index.ts'
import type { Guard, GuardOptions, RedisClient } from '../../../src/guard/index.ts'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { Source } from '../../../src/model/source.ts'
import { stripe } from '../../../src/providers/index.ts'
import type { HappeningName } from '../../../src/telemetry/happenings.ts'
import { sign } from '../../../src/testing/index.ts'
import { serve } from '../adapter-cases.ts'
import type { ConnectedRedis } from './connect-redis.ts'
import { SILENT } from './guard-under-test.ts'
import { freshPrefix, openRedis } from './open-redis.ts'

export const SECRET = 'whsec_0123456789abcdef0123456789'

/** Stripe, and a sender that puts a list of ids into one request. */
export const SIGNED_SOURCES = {
  stripe: stripe({ secrets: [SECRET] }),
  lists: {
    ...stripe({ secrets: [SECRET] }),
    identify: ({ body }) =>
      (JSON.parse(Buffer.from(body).toString()) as (string | null)[]).map((key) => ({
        key: key ?? undefined,
        type: 'listed',
        body: Buffer.from(JSON.stringify(key)),
      })),
  } satisfies Source as Source,
}

export type Route = (request: express.Request, response: express.Response) => unknown

export interface GuardedApp {
  readonly guard: Guard<typeof SIGNED_SOURCES>
  readonly redis: ConnectedRedis
  readonly happened: HappeningName[]
  /** How many keys the guard has in Redis. */
  countKeys(): Promise<number>
  post(source: 'stripe' | 'lists', delivery: Delivery, signal?: AbortSignal): Promise<Response>
}

type Options = Partial<Omit<GuardOptions<typeof SIGNED_SOURCES>, 'redis'>>

/** A guard before one route for each source, in Express, for the length of the running test. */
export async function aGuardedApp(
  route: (guard: GuardedApp['guard']) => Route,
  options: Options & {
    readonly redis?: ConnectedRedis
    readonly client?: RedisClient
    readonly before?: readonly express.RequestHandler[]
  } = {},
): Promise<GuardedApp> {
  const { redis = await openRedis(), client = redis.client, before = [], ...others } = options
  const prefix = freshPrefix()
  const guard = createGuard({
    redis: client,
    sources: SIGNED_SOURCES,
    logger: SILENT,
    ...others,
    prefix,
  })
  const happened: HappeningName[] = []
  guard.events.onAny((name) => happened.push(name))
  const app = express()
  for (const middleware of before) app.use(middleware)
  for (const source of ['stripe', 'lists'] as const) {
    app.post(`/${source}`, guard.middleware(source), route(guard))
  }
  const running = await serve(app)
  onTestFinished(() => running[Symbol.asyncDispose]())
  return {
    guard,
    redis,
    happened,
    countKeys: async () => ((await redis.send('KEYS', `${prefix}*`)) as unknown[]).length,
    post: (source, { headers, body }, signal) =>
      fetch(`http://127.0.0.1:${running.port}/${source}`, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: Buffer.from(body),
        redirect: 'manual',
        ...(signal === undefined ? {} : { signal }),
      }),
  }
}

export function aDelivery(key: string, body?: unknown): Delivery {
  const event = body === undefined ? { key } : { body: JSON.stringify(body) }
  return sign('stripe', event, { secret: SECRET })
}
