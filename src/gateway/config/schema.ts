/**
 * What a config may say, checked when it is read. The descriptions become the JSON Schema that editors use, and the
 * reference in the docs.
 *
 * @module
 */

import { z } from 'zod'
import { isDestinationName } from '../../model/destination-name.ts'
import { isSourceName } from '../../model/source-name.ts'
import type { DestinationConfig, ForwardConfig, ProviderFunction } from './config.ts'

const name = (isName: (text: string) => boolean) =>
  z.string().refine(isName, 'must be written with a-z, 0-9, - and _ only')
const milliseconds = z.int().min(1)
const days = z.union([z.int().min(1), z.literal('forever')])
const port = z.int().min(0).max(65_535)
const isFunction = (value: unknown): boolean => typeof value === 'function'
const secret = z.string().min(1, 'must not be empty')

const receive = z
  .strictObject({
    host: z.string().default('127.0.0.1').describe('The address to listen on.'),
    port: port.default(4400).describe('The port to listen on; 0 lets the system choose.'),
    bodyBytesMax: z.int().min(1).default(1_048_576).describe('The largest body that is taken.'),
    inFlightBytesMax: z
      .int()
      .min(1)
      .default(134_217_728)
      .describe('How many bytes of bodies may be on their way at once. More are answered 503.'),
    eventsMax: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('The most events of one delivery. One with more is quarantined whole.'),
    waitingMax: z
      .int()
      .min(1)
      .default(5_000)
      .describe('How many deliveries may wait for the database at once. More are answered 503.'),
    batchMax: z
      .int()
      .min(1)
      .max(5_000)
      .default(200)
      .describe('The most events that are stored in one transaction.'),
    rememberMax: z
      .int()
      .min(0)
      .default(50_000)
      .describe(
        'How many keys are remembered to answer duplicates without the database; 0 for none.',
      ),
    bodyTimeoutMs: milliseconds
      .max(3_600_000)
      .default(15_000)
      .describe('How long a sender may take for a body. Later it is answered 408.'),
    answerTimeoutMs: milliseconds
      .max(3_600_000)
      .default(5_000)
      .describe('How long a delivery may wait for the database before it is answered 503.'),
    processedTimeoutMs: milliseconds
      .max(3_600_000)
      .default(20_000)
      .describe(
        'How long a delivery to a source with `acknowledge: "processed"` waits until its messages are written. Later it is answered 503, and kept.',
      ),
    keepAliveTimeoutMs: milliseconds
      .max(3_600_000)
      .default(65_000)
      .describe(
        'How long a connection without a request is kept. Longer than a proxy in front keeps it: many do for 60 s.',
      ),
    withdrawMs: z
      .int()
      .min(0)
      .max(3_600_000)
      .default(0)
      .describe(
        'How long a process that is told to stop says 503 on `/readyz` and goes on as before, for a balancer that asks.',
      ),
  })
  .describe('Where deliveries come in: `POST /in/<source>`, `/healthz` and `/readyz`.')

const worker = z
  .strictObject({
    concurrency: z
      .int()
      .min(1)
      .max(256)
      .default(4)
      .describe('How many groups of events are written to the outbox at once, each process.'),
    reserved: z
      .int()
      .min(0)
      .max(256)
      .optional()
      .describe(
        'How many more are kept free for types of events that would else wait. Left out, a quarter of `concurrency`.',
      ),
    weights: z
      .record(name(isSourceName), z.int().min(1).max(100))
      .default({})
      .describe(
        'By the name of a source, how much of the time it has against the others. Left out, 1 each.',
      ),
    groupMax: z
      .int()
      .min(1)
      .max(1_000)
      .default(200)
      .describe('The most events that are written in one transaction.'),
    groupBudgetMs: milliseconds
      .max(3_600_000)
      .default(100)
      .describe('How long one transaction goes on taking events.'),
    pollMs: z
      .int()
      .min(10)
      .max(3_600_000)
      .default(1_000)
      .describe('How often to look for events when nothing calls.'),
    deadAfterMs: z
      .int()
      .min(500)
      .max(86_400_000)
      .default(10_000)
      .describe('How long others watch a worker’s heart stand still before they take it for dead.'),
    crashesMax: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe('How many times an event may take its process down with it before it is dead.'),
    blockedMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .default(60_000)
      .describe(
        'How long a `transform` may hold the process before a watchdog ends it; 0: for ever.',
      ),
  })
  .describe('How events are made messages of their destinations.')

const retry = z.strictObject({
  attemptsMax: z.int().min(1).max(1_000).default(12).describe('How often it is tried.'),
  firstMs: z.int().min(0).default(10_000).describe('The wait after the first failure.'),
  factor: z.number().min(1).max(100).default(3).describe('How much longer each wait is.'),
  maxMs: z.int().min(0).default(72_000_000).describe('The longest wait.'),
})

const handlerDefaults = z
  .strictObject({
    retry: retry.prefault({}).describe('When an event whose messages were not written runs again.'),
    timeoutMs: milliseconds
      .max(3_600_000)
      .default(10_000)
      .describe('How long the writing of one event’s messages may take, a `transform` included.'),
  })
  .describe('What the handler has that writes an event’s messages.')

const admin = z
  .strictObject({
    host: z
      .string()
      .default('127.0.0.1')
      .describe('The address to listen on. Beyond this machine only with a `token`.'),
    port: port.default(4401).describe('The port to listen on; 0 lets the system choose.'),
    token: z
      .string()
      .min(16, 'must have 16 characters or more, so that it cannot be guessed')
      .optional()
      .describe(
        'An admin’s, such as `env:HOOKONCE_ADMIN_TOKEN`. Without one, every process of this machine is an admin.',
      ),
    hosts: z
      .array(z.string().min(1))
      .default([])
      .describe('More names that it is reached by, such as that of a proxy. Others are refused.'),
  })
  .describe('Where operators come in: the [admin API](../admin-api.md).')

const payloadTest = z.strictObject({
  path: z.string().startsWith('$').describe('Where in the payload, such as `$.data.status`.'),
  equals: z.union([z.string(), z.number(), z.boolean(), z.null()]).describe('What must be there.'),
})

const forward = z.strictObject({
  to: z.string().describe('The name of a destination.'),
  types: z.array(z.string().min(1)).min(1).optional().describe('Types, or patterns: `invoice.*`.'),
  where: z
    .array(payloadTest)
    .min(1)
    .optional()
    .describe('Values the payload must have, all of them.'),
  lane: z
    .string()
    .startsWith('json:$')
    .optional()
    .describe('Where the name of a lane is: `json:$.data.customer`. A lane is sent in order.'),
  transform: z
    .custom<NonNullable<ForwardConfig['transform']>>(isFunction, 'must be a function')
    .optional()
    .describe('In a file of code: what is sent instead, or `null` for nothing.'),
})

const signingSecret = z.union(
  [
    secret,
    z.strictObject({
      value: secret.describe('The secret, as the sender shows it.'),
      label: z.string().optional().describe('What its uses are counted under.'),
      until: z.iso
        .datetime({ offset: true })
        .optional()
        .describe('The last moment at which it still verifies, for the old secret of a rotation.'),
    }),
  ],
  {
    // As `[process.env.NAME]` is in a file of code.
    error: ({ input }) =>
      input === undefined
        ? 'is missing. Check that the environment variable it comes from is set'
        : 'must be a text, or an object with value, label and until',
  },
)

const source = z
  .looseObject({
    provider: z
      .union([
        z.string(),
        z.custom<ProviderFunction>(isFunction, 'must be the name of a provider, or a provider'),
      ])
      .describe('The name of a provider, such as `stripe` or `hmac`.'),
    forward: z
      .array(z.union([z.string(), forward]))
      .optional()
      .describe('Where its events go: names of destinations, or objects with a filter.'),
    secrets: z
      .array(signingSecret)
      .optional()
      .describe(
        'The signing secrets, such as `env:STRIPE_WEBHOOK_SECRET`. Several for a rotation.',
      ),
    toleranceSeconds: z.int().min(1).optional().describe('How old a signed timestamp may be.'),
    bodyBytesMax: z.int().min(1).optional().describe('The largest body that is taken.'),
    status: z
      .union([z.literal(200), z.literal(202), z.literal(204)])
      .optional()
      .describe('What a delivery that was taken is answered.'),
  })
  .describe('One sender. Beside these, every option that its provider has.')

const destination = z
  .strictObject({
    url: z.string().min(1).describe('Where to. `https:` and a public host, unless `allowPrivate`.'),
    secrets: z
      .array(secret)
      .optional()
      .describe(
        'Signs as Standard Webhooks says. Several while one is being replaced. Needed, unless `unsigned`.',
      ),
    unsigned: z
      .boolean()
      .default(false)
      .describe(
        'Sends without a signature: the service cannot tell its messages from those of a stranger.',
      ),
    headers: z.record(z.string(), z.string()).optional().describe('Sent with every message.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Lets the URL be plain `http:`, or an address that is not public.'),
    concurrency: z.int().min(1).max(1_000).default(10).describe('How many at once, each process.'),
    ratePerSecond: z
      .int()
      .min(0)
      .default(0)
      .describe('How many a second, each process; 0: no limit.'),
    timeoutMs: milliseconds.max(600_000).default(15_000).describe('How long one attempt may take.'),
    retry: retry.prefault({}).describe('When a message that was not taken is sent again.'),
    breakerFailures: z
      .int()
      .min(1)
      .default(10)
      .describe(
        'How many attempts in a row may get no answer before it is left alone, each process.',
      ),
    breakerMs: milliseconds
      .max(3_600_000)
      .default(30_000)
      .describe('How long it is left alone then.'),
    idleTimeoutMs: milliseconds
      .max(600_000)
      .default(10_000)
      .describe('How long nothing may happen on the connection.'),
    sameAnswersMax: z
      .int()
      .min(1)
      .default(8)
      .describe(
        'How often in a row the same answer 500 with the same body may come before the message is dead.',
      ),
    keys: z
      .enum(['honoured', 'ignored'])
      .default('honoured')
      .describe(
        '`ignored` for a service that does not know a `webhook-id` again: what is sent twice happens twice there.',
      ),
    onUncertain: z
      .enum(['ask', 'check', 'resend'])
      .optional()
      .describe(
        'With `keys: "ignored"`, what becomes of a message that may have arrived: a person is asked, `check` looks, or it is sent again. Left out, a person is asked.',
      ),
    check: z
      .custom<NonNullable<DestinationConfig['check']>>(isFunction, 'must be a function')
      .optional()
      .describe('In a file of code, with `onUncertain: "check"`: looks whether a message arrived.'),
    onDead: z
      .enum(['block', 'pass'])
      .default('block')
      .describe('Behind a message that is dead its lane waits for a person, or goes on.'),
    keyLifetimeMs: z
      .int()
      .min(0)
      .optional()
      .describe(
        'For how long the service behind it remembers a `webhook-id`. Left out, 30 days, where `keys` are honoured.',
      ),
  })
  .describe('Where events are forwarded to.')

const retention = z
  .strictObject({
    keysDays: days
      .default(45)
      .describe('Keys: for so long a redelivery is known to be a duplicate.'),
    doneDays: days.default(30).describe('Body and headers of events that are done.'),
    skippedDays: days.default(30).describe('Body and headers of events that were skipped.'),
    discardedDays: days.default(30).describe('Body and headers of events that were discarded.'),
    deadDays: days.default('forever').describe('After so many days a dead event is discarded.'),
    attemptsDays: days.default(30).describe('The failed attempts of an event.'),
    stepsDays: days.default(30).describe('The results of its steps.'),
    deliveriesDays: days.default(30).describe('How often it was delivered, and when.'),
    messagesDays: days.default(30).describe('Messages that were sent or discarded.'),
    auditDays: days.default(365).describe('What operators did.'),
    daily: z
      .boolean()
      .default(true)
      .describe('Whether this process prunes by itself, once a day for all processes together.'),
  })
  .describe('For how many days things are kept.')

/** The whole of it. An empty object has every default. */
const encryption = z
  .strictObject({
    keys: z
      .array(
        z.strictObject({
          id: z.string().describe('What the key is called in the database, such as `2026-11`.'),
          key: z
            .string()
            .describe(
              '32 random bytes in base64, such as `env:HOOKONCE_KEY`: `openssl rand -base64 32`.',
            ),
        }),
      )
      .describe('The first encrypts, all of them decrypt.'),
    writes: z
      .enum(['sealed', 'clear'])
      .default('sealed')
      .describe('`clear` stores what is new as it is, to switch encryption off.'),
  })
  .describe(
    'Encrypts bodies, headers and errors before they are stored: [encryption](../guides/encryption.md).',
  )

export const configSchema = z.strictObject({
  store: z
    .string()
    .default('sqlite:.hookonce/hookonce.db')
    .describe('`sqlite:<file>` or `postgres://…`.'),
  encryption: encryption.optional(),
  migrate: z
    .enum(['auto', 'check'])
    .default('auto')
    .describe(
      'Whether a start brings the tables up to date, or only checks that they are: then `hookonce migrate` does it.',
    ),
  roles: z
    .array(z.enum(['receive', 'work', 'relay', 'admin']))
    .min(1)
    .default(['receive', 'work', 'relay', 'admin'])
    .describe('What this process does.'),
  processes: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe('How many processes share the work on this machine. More than one needs PostgreSQL.'),
  receive: receive.prefault({}),
  worker: worker.prefault({}),
  handlerDefaults: handlerDefaults.prefault({}),
  admin: admin.prefault({}),
  sources: z.record(name(isSourceName), source).default({}).describe('The senders, by name.'),
  destinations: z
    .record(name(isDestinationName), destination)
    .default({})
    .describe('Where events are forwarded to, by name.'),
  relay: z
    .strictObject({
      leaseMs: milliseconds
        .max(3_600_000)
        .default(60_000)
        .describe(
          'How long a message waits after the process that was sending it was killed. Longer than every `timeoutMs`.',
        ),
      pollMs: milliseconds
        .max(60_000)
        .default(1_000)
        .describe('How often to look for messages when nothing calls.'),
    })
    .prefault({})
    .describe('How messages are sent, for all destinations.'),
  retention: retention.prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('What matters at least as much is logged.'),
    })
    .prefault({})
    .describe('What is logged.'),
  tracing: z
    .boolean()
    .default(false)
    .describe('Makes spans with the `@opentelemetry/api` that is installed beside the config.'),
  stopGraceMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(10_000)
    .describe('How long a process that is told to stop takes for what it has begun.'),
})

/** A config with every default. */
export type ResolvedConfig = z.output<typeof configSchema>
/** One source of it. */
export type ResolvedSourceConfig = ResolvedConfig['sources'][string]
/** One destination of it. */
export type ResolvedDestinationConfig = ResolvedConfig['destinations'][string]

/** For editors: `$schema` of a JSON file. */
export function configJsonSchema(): object {
  return z.toJSONSchema(configSchema, {
    io: 'input',
    // A function can only be in a file of code, and has no place in a JSON file.
    unrepresentable: 'any',
  })
}
