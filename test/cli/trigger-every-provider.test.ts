/** `hookonce trigger` for every provider, against a gateway that has a source of each. */

import { createPrivateKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { draftTrigger } from '../../src/cli/draft-trigger.ts'
import type { TriggerChanges } from '../../src/cli/draft-trigger.ts'
import { sendDelivery } from '../../src/cli/send-delivery.ts'
import { listProviders } from '../../src/gateway/build-sources.ts'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { consoleLogger } from '../../src/index.ts'
import type { HookonceError } from '../../src/index.ts'
import { madeUpConfiguration } from '../../src/testing/made-up-configuration.ts'
import { requireFixture } from '../../src/testing/sign.ts'
import type { SignableProvider } from '../../src/testing/index.ts'

const QUIET = { ...consoleLogger(), debug() {}, info() {}, warn() {}, error() {} }

/** Nothing is signed, so that there is nothing to sign with. */
const UNTRIGGERED = ['unsigned']

/** Those that need `--private-key`. */
const BY_PRIVATE_KEY = ['aws_sns', 'discord', 'paypal', 'plaid', 'sendgrid']

/** Those of whom a gateway keeps what is too old, and does not run it. */
const QUARANTINED = ['aws_sns', 'discord', 'paypal', 'sanity', 'sendgrid', 'webflow', 'zoom']

/** Those that sign no time that a source looks at, so that `--old` is refused. */
const UNTIMED = [
  'ably',
  'adyen',
  'airtable',
  'asana',
  'auth0',
  'bitbucket',
  'braintree',
  'cal_com',
  'chargebee',
  'circleci',
  'coinbase_commerce',
  'docusign',
  'dropbox',
  'figma',
  'flutterwave',
  'github',
  'gocardless',
  'intercom',
  'jira',
  'klarna',
  'lemonsqueezy',
  'line',
  'mailchimp',
  'mandrill',
  'meta',
  'microsoft_graph',
  'mollie',
  'netlify',
  'notion',
  'okta',
  'pagerduty',
  'paystack',
  'postmark',
  'pusher',
  'razorpay',
  'segment',
  'sentry',
  'shopify',
  'square',
  'telegram',
  'trello',
  'twilio',
  'typeform',
  'vercel',
  'woocommerce',
  'x',
  'xero',
  'hmac',
]

const names = [...listProviders().keys()]
const triggered = names.filter((name) => !UNTRIGGERED.includes(name))
const senders = new Map(triggered.map((name) => [name, senderOf(name)]))
const config = configSchema.parse({
  receive: { port: 0 },
  store: 'sqlite:hookonce.db',
  sources: Object.fromEntries([
    ...[...senders].map(([name, { options }]) => [name, { provider: name, ...options }] as const),
    ['unsigned', { provider: 'unsigned', verify: 'none', key: 'json:$.id', type: 'json:$.type' }],
  ]),
})

let gateway: Gateway
const folder = mkdtempSync(join(tmpdir(), 'hookonce-trigger-'))

beforeAll(async () => {
  gateway = await startGateway({ config, folder, logger: QUIET })
  await gateway.untilStarted()
}, 60_000)

afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('hookonce trigger', () => {
  test.each(triggered)('%s: what it signs is accepted, and a forgery is refused', async (name) => {
    expect(await send(name)).toBe('accepted')
    expect(await send(name, { isForged: true })).toBe('refused')
  })

  test.each(triggered.filter((name) => !UNTIMED.includes(name)))(
    '%s: what was signed too long ago is not taken for good',
    async (name) => {
      expect(await send(name, { isOld: true })).toBe(
        QUARANTINED.includes(name) ? 'quarantined' : 'refused',
      )
    },
  )

  test('what has no signature cannot be sent, and what signs no time cannot be old', () => {
    const refusals = (of: readonly string[], changes: Partial<TriggerChanges>) =>
      of.flatMap((name) => {
        try {
          draft(name, 'http://127.0.0.1/', changes)
          return []
        } catch (error) {
          const { code, message } = error as HookonceError
          return [[name, code, /^--[a-z-]+(?=:)|is unsigned/.exec(message)?.[0]]]
        }
      })

    expect(refusals(names, {})).toEqual(
      UNTRIGGERED.map((name) => [name, 'CONFIG_INVALID', 'is unsigned']),
    )
    expect(refusals(triggered, { isOld: true })).toEqual(
      UNTIMED.map((name) => [name, 'OPTION_INVALID', '--old']),
    )
    expect(refusals(triggered, { privateKey: undefined })).toEqual(
      BY_PRIVATE_KEY.map((name) => [name, 'OPTION_INVALID', '--private-key']),
    )
  })
})

/** What the gateway made of it. Not all senders are told. */
async function send(name: string, changes: Partial<TriggerChanges> = {}): Promise<string> {
  const url = `http://127.0.0.1:${gateway.address!.port}/in/${name}`
  const answered = new Promise<string>((resolve) => {
    const stop = gateway.inbox.events.on('delivery.answered', ({ source, outcome }) => {
      if (source !== name) return
      stop()
      resolve(outcome)
    })
  })
  await sendDelivery(url, draft(name, url, changes), { times: 1, atOnce: false })
  return answered
}

function draft(name: string, url: string, changes: Partial<TriggerChanges>) {
  const privateKey = senders.get(name)?.privateKey
  return draftTrigger(
    config,
    { source: name, type: undefined, url },
    {
      ...{ set: [], id: undefined, secret: undefined, body: undefined },
      ...{ isForged: false, isOld: false, privateKey },
      ...changes,
    },
  )
}

/** Options of a source as a config has them, and the private key for it. */
function senderOf(name: string) {
  if (name === 'hmac')
    return {
      options: {
        header: 'x-signature',
        algorithm: 'sha256',
        encoding: 'hex',
        key: 'json:$.id',
        type: 'json:$.type',
        secrets: ['a-secret-of-more-than-16-bytes'],
      },
      privateKey: undefined,
    }
  const fixture = requireFixture(listProviders().get(name) as unknown as SignableProvider)
  const { options, credentials } =
    fixture.configuration?.() ?? madeUpConfiguration(fixture.provider.definition.verify, 0)
  const { privateKey } = credentials
  return {
    options,
    privateKey: typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey,
  }
}
