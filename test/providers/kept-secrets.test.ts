import { existsSync, readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import type { Provider } from '../../src/providers/index.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { Credentials } from '../../src/testing/fixture.ts'
import type { ProviderCase } from '../../src/testing/provider-case.ts'
import { sign } from '../../src/testing/index.ts'
import { openReceivingInbox } from '../support/receiving-inbox.ts'
import { bareDelivery, NOW } from './bare-delivery.ts'
import { findCase } from './find-case.ts'
import { PROVIDERS } from './vector.ts'

const PUBLIC_URL = 'https://example.com/in/source'

/** A source, what its sender signs with or shows, and all that was configured as a secret. */
interface Setup {
  readonly options: Readonly<Record<string, unknown>>
  readonly credentials: Credentials
  readonly secrets: readonly string[]
  /** What a delivery becomes that shows its secret in another place. */
  readonly show?: (delivery: Delivery) => Delivery
}

const withHeaders = (delivery: Delivery, headers: Record<string, string>): Delivery => ({
  ...delivery,
  headers,
})

/** The ways of a provider to be configured with a secret. This text fits every encoding of secrets there is. */
function listSetups(slug: string, hex: string): readonly Setup[] {
  const plain: Setup = {
    options: { secrets: [hex], publicUrl: PUBLIC_URL },
    credentials: { secret: hex, publicUrl: PUBLIC_URL },
    secrets: [hex],
  }
  const pair = (text: string): Setup => ({
    ...plain,
    options: { secrets: [text] },
    credentials: { secret: text },
  })
  switch (slug) {
    case 'braintree':
      return [pair(`a_public_key|${hex}`)]
    case 'chargebee':
    case 'postmark':
      return [
        pair(`user:${hex}`),
        { ...pair(`user:${hex}`), options: { username: 'user', password: hex } },
      ]
    case 'gitlab':
      return [
        pair(`whsec_${hex}`),
        { ...plain, show: (delivery) => withHeaders(delivery, { 'x-gitlab-token': hex }) },
      ]
    case 'flutterwave':
      return [plain, { ...plain, show: (delivery) => withHeaders(delivery, { 'verif-hash': hex }) }]
    case 'okta':
      return [
        plain,
        {
          ...plain,
          options: { secrets: [hex], header: 'x-ours' },
          credentials: { secret: hex, options: { header: 'x-ours' } },
        },
      ]
    case 'segment': {
      const authorization = `Bearer ${hex.split('').reverse().join('')}`
      const options = { secrets: [hex], authorization }
      return [
        plain,
        {
          options,
          credentials: { secret: hex, options: { authorization } },
          secrets: [hex, authorization.slice(7)],
        },
      ]
    }
    case 'meta': {
      const verifyToken = hex.split('').reverse().join('')
      return [{ ...plain, options: { secrets: [hex], verifyToken }, secrets: [hex, verifyToken] }]
    }
    default:
      return [plain]
  }
}

/** The secrets as they are and as they may have been written. */
function listSpellings(secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    // Behind a user and a colon, as in basic authentication.
    Buffer.from(`user:${secret}`).toString('base64').slice(8, -4),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret, 'hex').toString('base64').replace(/=+$/, ''),
    Buffer.from(secret, 'base64').toString('hex'),
  ])
}

const WITH_SECRETS = [...PROVIDERS].filter(([, { definition }]) =>
  definition.verify.optionNames.includes('secrets'),
)

/** Two handshakes that show what was configured. */
function listGreetings(slug: string, { secrets: [secret = '', token = ''] }: Setup) {
  return [
    bareDelivery({ method: 'GET', url: `/?secret=${secret}` }),
    bareDelivery({
      method: 'GET',
      url: `/?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${token || secret}`,
    }),
    bareDelivery({ method: 'GET', url: '/?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53' }),
    bareDelivery({ method: 'GET', url: '/?crc_token=abc', headers: { authorization: secret } }),
    bareDelivery({ body: Buffer.from(`{"verification_token":"${slug}"}`) }),
  ]
}

describe('R56: a secret that was configured is kept nowhere', () => {
  test('there are providers with secrets to look at', () => {
    expect(WITH_SECRETS.length).toBeGreaterThan(65)
  })

  test.each(WITH_SECRETS)(
    '%s: neither in the database nor in a line of the log',
    async (slug, provider) => {
      const one = await findCase(slug)
      if (one === undefined) throw new Error(`no case of ${slug}`)
      await fc.assert(
        fc.asyncProperty(SECRET, async (hex) => {
          for (const setup of listSetups(slug, hex)) await checkSetup(slug, provider, one, setup)
        }),
        { numRuns: 2 },
      )
    },
  )

  test.each(WITH_SECRETS)('%s: nor in an error or in the source itself', (slug, provider) => {
    fc.assert(
      fc.property(SECRET, (hex) => {
        for (const { options, secrets } of listSetups(slug, hex)) {
          const given = onlyKnown(provider, options)
          const shown = [inspect(provider(given), DEEP), ...listErrors(provider, given)].join('\n')
          for (const spelling of listSpellings(secrets)) expect(shown).not.toContain(spelling)
        }
      }),
      { numRuns: 3 },
    )
  })
})

const DEEP = { depth: 12, showHidden: true }

/** Hex digits, with a letter among the first so that no encoding takes them for a number. */
const SECRET = fc
  .array(fc.constantFrom(...Array.from('0123456789abcdef')), { minLength: 60, maxLength: 60 })
  .map((digits) => `ab1f${digits.join('')}`)

function onlyKnown(provider: Provider<object>, options: Setup['options']): Record<string, unknown> {
  const { verify, options: own = {} } = provider.definition
  const known = [...verify.optionNames, ...Object.keys(own)]
  return Object.fromEntries(Object.entries(options).filter(([name]) => known.includes(name)))
}

async function checkSetup(
  slug: string,
  provider: Provider<object>,
  one: ProviderCase,
  setup: Setup,
): Promise<void> {
  const seen: string[] = []
  const write = (fields: object, message: string) => void seen.push(message, inspect(fields, DEEP))
  const logger: Logger = { debug: write, info: write, warn: write, error: write }
  const source: Source = provider(onlyKnown(provider, setup.options))
  const { receive, inbox, database } = await openReceivingInbox({ source }, logger)
  inbox.events.onAny((name, happening) => void seen.push(name, inspect(happening, DEEP)))
  const { show = (delivery) => delivery } = setup

  const outcomes: string[] = []
  for (const type of Object.keys(one.fixture.events)) {
    const delivery = show(sign(one.fixture, { type, at: NOW }, credentialsFor(slug, setup)))
    outcomes.push(await receive('source', delivery))
    // Once more, and damaged: what is refused leaves nothing either.
    await receive('source', delivery)
    await receive('source', { ...delivery, body: Buffer.concat([delivery.body, Buffer.from('x')]) })
  }
  for (const greeting of listGreetings(slug, setup)) await receive('source', greeting)
  await inbox.stop()

  expect(outcomes.some((outcome) => ['accepted', 'quarantined'].includes(outcome))).toBe(true)
  const kept = ['', '-wal', '-shm', '-journal']
    .map((end) => database.file + end)
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n')
  // As yes or no: the difference of two databases would be printed for minutes.
  const found = listSpellings(setup.secrets).map((spelling) => ({
    isInDatabase: kept.includes(spelling),
    isInLog: seen.join('\n').includes(spelling),
  }))
  expect(found).toEqual(found.map(() => ({ isInDatabase: false, isInLog: false })))
}

function credentialsFor(slug: string, { credentials }: Setup): Credentials {
  const { verify } = PROVIDERS.get(slug)?.definition ?? {}
  if (verify?.optionNames.includes('publicUrl') === true) return credentials
  const { publicUrl: _, ...rest } = credentials
  return rest
}

/** What a source says when something is wrong with its options. */
function listErrors(provider: Provider<object>, given: Record<string, unknown>): readonly string[] {
  const [secret] = [given['secrets'] ?? []].flat() as string[]
  const wrong: object[] = [
    { ...given, secrets: secret },
    { ...given, secrets: [{ value: secret, label: '' }] },
    { ...given, secrets: [{ value: secret, name: 'x' }] },
    { ...given, secrets: [{ value: secret, until: 'tomorrow' }] },
    { ...given, secrets: [secret, secret].map((value) => ({ value, label: 'a' })) },
    { ...given, secrets: [`\u0000${secret ?? ''}é!`] },
    { ...given, publicUrl: secret },
    { ...given, password: 5, username: secret },
    { ...given, sameBytes: secret, toleranceSeconds: secret },
  ]
  return wrong.flatMap((options) => {
    try {
      provider(options)
      return []
    } catch (error) {
      return [inspect(error, DEEP), String((error as Error).stack), JSON.stringify(error)]
    }
  })
}
