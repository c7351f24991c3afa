import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import type { GatewayConfig } from '../../src/gateway/config/config.ts'
import { loadConfig } from '../../src/gateway/config/load-config.ts'
import type { LoadConfigOptions } from '../../src/gateway/config/load-config.ts'
import { listSettings } from '../../src/gateway/config/print-config.ts'
import type { configSchema } from '../../src/gateway/config/schema.ts'

const SECRET = 'whsec_0123456789abcdef'
const STRIPE = { provider: 'stripe', secrets: ['env:STRIPE_SECRET'] }

describe('a config', () => {
  test('has every default when nothing is said', async () => {
    const { config, file } = await load()

    expect(file).toBeUndefined()
    expect(config.store).toBe('sqlite:.hookonce/hookonce.db')
    expect(config.receive).toEqual({
      host: '127.0.0.1',
      port: 4400,
      bodyBytesMax: 1_048_576,
      keepAliveTimeoutMs: 65_000,
      withdrawMs: 0,
    })
  })

  test('is what a flag says, else the environment, else the file', async () => {
    const file = { receive: { port: 1, host: 'file' }, log: { level: 'warn' }, stopGraceMs: 5 }
    const environment = { HOOKONCE_RECEIVE__PORT: '2', HOOKONCE_LOG__LEVEL: 'debug' }
    const flags = new Map([['receive.port', { flag: '--port', value: 3 }]])

    const loaded = await load({ file, environment, flags })

    expect(loaded.config).toMatchObject({
      receive: { port: 3, host: 'file' },
      log: { level: 'debug' },
      stopGraceMs: 5,
    })
    expect(Object.fromEntries(loaded.origins)).toEqual({
      'receive.port': '--port',
      'receive.host': 'hookonce.config.json',
      'log.level': 'HOOKONCE_LOG__LEVEL',
      stopGraceMs: 'hookonce.config.json',
    })
  })

  test('has what is beneath its file where the file says nothing', async () => {
    const file = { receive: { port: 1 } }
    const value = { receive: { port: 2, host: 'beneath' } }

    const loaded = await load({ file, beneath: { origin: 'dev.json', value } })

    expect(loaded.config.receive).toMatchObject({ port: 1, host: 'beneath' })
    expect(loaded.origins.get('receive.host')).toBe('dev.json')
  })

  test('can be said by the environment alone', async () => {
    const { config } = await load({
      environment: {
        HOOKONCE_SOURCES__STRIPE__PROVIDER: 'stripe',
        HOOKONCE_SOURCES__STRIPE__SECRETS: 'env:STRIPE_SECRET, env:OLD_SECRET',
        HOOKONCE_SOURCES__STRIPE__TOLERANCE_SECONDS: '600',
        HOOKONCE_SOURCES__STRIPE__FORWARD: 'app',
        HOOKONCE_DESTINATIONS__APP__URL: 'http://127.0.0.1:3000/',
        HOOKONCE_DESTINATIONS__APP__ALLOW_PRIVATE: 'true',
        HOOKONCE_RETENTION__KEYS_DAYS: 'forever',
        HOOKONCE_ROLES: 'work,relay',
        STRIPE_SECRET: SECRET,
        OLD_SECRET: 'whsec_fedcba9876543210',
      },
    })

    expect(config.sources['stripe']).toEqual({
      provider: 'stripe',
      secrets: [SECRET, 'whsec_fedcba9876543210'],
      toleranceSeconds: 600,
      forward: ['app'],
    })
    expect(config.destinations['app']).toMatchObject({ allowPrivate: true })
    expect(config.retention).toMatchObject({ keysDays: 'forever', doneDays: 30 })
    expect(config.roles).toEqual(['work', 'relay'])
  })

  test('has everything that is wrong with it told at once, with the nearest name and where it was said', async () => {
    const file = {
      recieve: { port: 1 },
      receive: { prot: 1, port: 'a lot' },
      sources: {
        Stripe: { provider: 'stripe' },
        github: { provider: 'github', forward: ['ap', { too: 'app', to: 'app' }] },
      },
      destinations: { app: { url: 'https://example.com/' } },
    }

    const message = await refusal({ file, environment: { HOOKONCE_STOER: 'x' } })

    expect(message).toContain('HOOKONCE_STOER: there is no STOER, did you mean "STORE"?')
    expect(message).toContain(
      'recieve: there is no such setting, did you mean "receive"? (hookonce.config.json)',
    )
    expect(message).toContain('receive.prot: there is no such setting, did you mean "port"?')
    expect(message).toMatch(/receive\.port: .*expected number.*\(hookonce\.config\.json\)/)
    expect(message).toContain('sources.Stripe: must be written with a-z, 0-9, - and _ only')
    expect(message).toMatch(/sources\.github\.forward/)
  })

  test('that forwards to what is not there is refused', async () => {
    const file = {
      sources: { github: { provider: 'github', secrets: ['x'.repeat(20)], forward: ['ap'] } },
      destinations: { app: { url: 'https://example.com/' } },
    }

    expect(await refusal({ file })).toContain(
      'sources.github.forward: there is no destination "ap", did you mean "app"? There are: app',
    )
  })

  test('R32: with a secret that is not there is refused by name', async () => {
    const file = {
      sources: { stripe: STRIPE, github: { provider: 'github', secrets: ['file:no-such'] } },
    }

    const message = await refusal({ file })

    expect(message).toContain(
      'sources.stripe.secrets.0: the environment variable STRIPE_SECRET is not set',
    )
    expect(message).toContain('sources.github.secrets.0: the file no-such cannot be read: ENOENT')
  })

  test('never shows a value that is wrong: it may be a secret', async () => {
    const file = { sources: { stripe: { ...STRIPE, status: SECRET } }, log: { level: SECRET } }

    expect(await refusal({ file, environment: { STRIPE_SECRET: SECRET } })).not.toContain(SECRET)
  })

  test('reads a secret from a file beside it, without the line break at its end', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, 'secret'), `${SECRET}\n`)
    const file = { sources: { stripe: { provider: 'stripe', secrets: ['file:secret'] } } }

    const { config } = await load({ folder, file })

    expect(config.sources['stripe']?.secrets).toEqual([SECRET])
  })

  test('D13: does not change what every object has', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, 'hookonce.config.json'), '{ "__proto__": { "polluted": true } }')

    await expect(loadConfig({ folder, environment: {} })).rejects.toThrow('__proto__')
    expect({}).not.toHaveProperty('polluted')
  })

  test('in TypeScript is run, and may have functions', async () => {
    const folder = aFolder()
    writeFileSync(
      join(folder, 'hookonce.config.ts'),
      `const port: number = 4500
       export default {
         receive: { port },
         sources: { a: { provider: 'github', secrets: ['${SECRET}'], forward: [{ to: 'app', transform: (event: object) => null }] } },
         destinations: { app: { url: 'https://example.com/' } },
       }`,
    )

    const { config } = await loadConfig({ folder, environment: {} })

    expect(config.receive.port).toBe(4500)
    expect(config.sources['a']?.forward?.[0]).toHaveProperty('transform')
  })

  test('is refused when there are two', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, 'hookonce.config.json'), '{}')
    writeFileSync(join(folder, 'hookonce.config.ts'), 'export default {}')

    await expect(loadConfig({ folder, environment: {} })).rejects.toThrow(
      'There are hookonce.config.ts and hookonce.config.json. Remove all but one',
    )
  })

  test('is printed with where each value was said, and without a secret', async () => {
    const file = {
      store: 'postgres://me:pass-word@db/hooks',
      sources: {
        stripe: STRIPE,
        partner: { provider: 'hmac', header: 'x-sig', secrets: [SECRET], apiKey: 'top-secret' },
      },
      destinations: {
        app: {
          url: 'https://me:pass-word@example.com/',
          secrets: [SECRET],
          headers: { authorization: 'Bearer top-secret' },
        },
      },
    }

    const settings = listSettings(await load({ file, environment: { STRIPE_SECRET: SECRET } }))

    const printed = JSON.stringify(settings)
    expect(printed).not.toMatch(/pass-word|top-secret|whsec/)
    expect(settings).toContainEqual({
      path: 'sources.stripe.secrets.0',
      value: 'env:STRIPE_SECRET',
      origin: 'hookonce.config.json',
    })
    expect(settings).toContainEqual({
      path: 'store',
      value: 'postgres://me:***@db/hooks',
      origin: 'hookonce.config.json',
    })
    expect(settings).toContainEqual({ path: 'receive.port', value: 4400, origin: 'default' })
  })

  test('that is typed is one that is taken', () => {
    expectTypeOf<Mutable<GatewayConfig>>().toExtend<z.input<typeof configSchema>>()
  })
})

/** A list that was parsed may be changed, one that a user wrote is only read. */
type Mutable<T> = T extends (...args: never) => unknown
  ? T
  : T extends readonly (infer Member)[]
    ? Mutable<Member>[]
    : T extends object
      ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
      : T

interface Given {
  readonly folder?: string
  readonly file?: object
  readonly environment?: Record<string, string>
  readonly flags?: NonNullable<LoadConfigOptions['flags']>
  readonly beneath?: LoadConfigOptions['beneath']
}

function load({ folder = aFolder(), file, environment = {}, ...others }: Given = {}) {
  if (file !== undefined) writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(file))
  return loadConfig({ folder, environment, ...others })
}

async function refusal(given: Given): Promise<string> {
  const error = await load(given).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
  return (error as Error).message
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
