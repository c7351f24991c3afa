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
      inFlightBytesMax: 134_217_728,
      eventsMax: 10_000,
      waitingMax: 5_000,
      batchMax: 200,
      rememberMax: 50_000,
      bodyTimeoutMs: 15_000,
      answerTimeoutMs: 5_000,
      processedTimeoutMs: 20_000,
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
        HOOKONCE_DESTINATIONS__APP__UNSIGNED: 'true',
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
    expect(config.destinations['app']).toMatchObject({ allowPrivate: true, unsigned: true })
    expect(config.retention).toMatchObject({ keysDays: 'forever', doneDays: 30 })
    expect(config.roles).toEqual(['work', 'relay'])
  })

  test('leaves alone what Kubernetes and Docker say of services with our name', async () => {
    const { config } = await load({
      environment: {
        HOOKONCE_SERVICE_HOST: '10.0.0.1',
        HOOKONCE_SERVICE_PORT: '80',
        HOOKONCE_SERVICE_PORT_HTTP: '80',
        HOOKONCE_PORT: 'tcp://10.0.0.1:80',
        HOOKONCE_PORT_80_TCP: 'tcp://10.0.0.1:80',
        HOOKONCE_PORT_80_TCP_PROTO: 'tcp',
        HOOKONCE_PORT_80_TCP_PORT: '80',
        HOOKONCE_PORT_80_TCP_ADDR: '10.0.0.1',
        HOOKONCE_ADMIN_SERVICE_HOST: '10.0.0.2',
        HOOKONCE_ADMIN_PORT: 'tcp://10.0.0.2:4401',
        HOOKONCE_RECEIVE__PORT: '4500',
      },
    })

    expect(config.receive.port).toBe(4500)
  })

  test('may refer to a variable that begins as ours do', async () => {
    const key = Buffer.alloc(32, 7).toString('base64')
    const file = { encryption: { keys: [{ id: '2026-11', key: 'env:HOOKONCE_KEY_2026_11' }] } }
    const environment = { HOOKONCE_KEY_2026_11: key, HOOKONCE_KEY_2027_01: key }

    const { config } = await load({
      file,
      environment: { HOOKONCE_KEY_2026_11: key },
    })

    expect(config.encryption?.keys).toEqual([{ id: '2026-11', key }])
    const message = await refusal({ file, environment })
    expect(message).not.toContain('2026_11')
    expect(message).toContain(
      'HOOKONCE_KEY_2027_01: there is no KEY_2027_01. A variable of your own needs a name that does not begin with HOOKONCE_, or an env: reference',
    )
  })

  test('has a variable with one _ too few told with the name that is meant', async () => {
    const message = await refusal({
      environment: {
        HOOKONCE_RECEIVE_PORT: '80',
        HOOKONCE_PORT: '80',
        HOOKONCE_DESTINATIONS_APP_URL: 'https://example.com/',
      },
    })

    expect(message).toContain(
      'HOOKONCE_RECEIVE_PORT: there is no RECEIVE_PORT, did you mean "RECEIVE__PORT"?',
    )
    expect(message).toContain('HOOKONCE_PORT: there is no PORT, did you mean "RECEIVE__PORT"?')
    expect(message).toContain('two underscores go one level down, as in DESTINATIONS__<NAME>__')
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
    expect(message).toContain('receive.port: must be a number (hookonce.config.json)')
    expect(message).toContain('sources.Stripe: must be written with a-z, 0-9, - and _ only')
    expect(message).toContain(
      'sources.github.forward.1.too: there is no such setting, did you mean "to"?',
    )
  })

  test.each([
    [
      { roles: ['recieve'] },
      'roles.0: must be "receive", "work", "relay" or "admin", did you mean',
    ],
    [{ receive: { bodyBytesMax: -1 } }, 'receive.bodyBytesMax: must be 1 or more'],
    [{ receive: { port: 70_000 } }, 'receive.port: must be 65535 or less'],
    [{ receive: { port: 1.5 } }, 'receive.port: must be a whole number'],
    [{ retention: { keysDays: 'long' } }, 'retention.keysDays: must be a number or "forever"'],
    [{ retention: { keysDays: 0 } }, 'retention.keysDays: must be 1 or more'],
    [{ tracing: 'yes' }, 'tracing: must be true or false'],
    [{ admin: 4401 }, 'admin: must be an object'],
    [{ destinations: { app: {} } }, 'destinations.app.url: is missing'],
    [inSource({ secrets: [5] }), 'secrets.0: must be a text, or an object with value, label'],
    [inSource({ secrets: [{ valu: 'x' }] }), 'secrets.0.value: is missing'],
    [inSource({ secrets: [{ valu: 'x' }] }), 'secrets.0.valu: there is no such setting, did you'],
    [inSource({ secrets: [{ value: 'x', until: 'now' }] }), 'until: must be a time, such as 2026-'],
    [inSource({ status: 201 }), 'sources.in.status: must be 200, 202 or 204'],
    [inSource({ forward: [5] }), 'sources.in.forward.0: must be a text or an object'],
    [inSource({ forward: [{ to: 'a', typs: [] }] }), 'forward.0.typs: there is no such setting'],
    [inSource({ forward: [{ to: 'a', types: [] }] }), 'forward.0.types: must not be empty'],
    [inSource({ forward: [{ to: 'a', lane: '$.a' }] }), 'forward.0.lane: must begin with json:$'],
    [
      inSource({ forward: [{ to: 'a', where: [{ path: '$.a', equals: {} }] }] }),
      'forward.0.where.0.equals: must be a text, a number, true or false or null',
    ],
  ])('has what is wrong told in words: %j', async (file, words) => {
    const message = await refusal({ file })

    expect(message).toContain(words)
    expect(message).not.toMatch(/invalid input|expected/i)
  })

  test('to start with has what its form does not show told in the same breath', async () => {
    const file = {
      receive: { port: 'a lot' },
      sources: {
        Stripe: { provider: 'stripe' },
        github: { provider: 'github', secrets: ['short'], forward: ['ap', 'audit'] },
        stripe: { provider: 'stirpe', secrets: ['x'.repeat(20)] },
      },
      destinations: {
        app: { url: 'http://10.0.0.1/' },
        audit: { url: 'https://example.com/', timeoutMs: -1 },
        both: { url: 'https://example.com/', secrets: [SECRET], unsigned: true },
        weak: { url: 'https://example.com/', secrets: [`whsec_${btoa('12345678')}`] },
      },
      admin: { host: '0.0.0.0' },
    }

    const message = await refusal({ file, purpose: 'start' })
    const lines = message.split('\n')

    expect(lines.filter((line) => line.includes('receive.port'))).toHaveLength(1)
    expect(message).toContain('sources.Stripe: must be written with')
    expect(message).toContain('sources.github: secrets[0] is shorter than 16 bytes')
    expect(message).toContain('sources.github.forward: there is no destination "ap"')
    expect(message).toContain(
      'sources.stripe: there is no provider "stirpe", did you mean "stripe"?',
    )
    expect(message).toContain('destinations.audit.timeoutMs')
    expect(message).not.toContain('there is no destination "audit"')
    expect(message).toMatch(
      /destinations\.app\.url: 10\.0\.0\.1 .*set destinations\.app\.allowPrivate to true/,
    )
    expect(message).toContain('destinations.app.secrets: there are none, so that nothing would be')
    expect(message).toContain('set destinations.app.unsigned to true')
    expect(message).toContain('destinations.both.unsigned: it is true, and there are secrets')
    expect(message).toMatch(/destinations\.weak: .*secrets.*at least 16 bytes/)
    expect(message).toContain('admin.token: it is missing, and admin.host 0.0.0.0')
    expect(message).not.toContain('option allow')
  })

  test('to start with has what would end the start later told as well', async () => {
    const file = {
      store: 'mysql://db/hooks',
      roles: ['recieve'],
      relay: { leaseMs: 10_000 },
      sources: {
        github: {
          provider: 'github',
          secrets: ['x'.repeat(20)],
          forward: [{ to: 'app', lane: 'json:$..x' }],
        },
      },
      destinations: {
        app: { url: 'https://example.com/' },
        none: { url: 'example' },
        ftp: { url: 'ftp://example.com/' },
        plain: { url: 'http://hooks.example.com/' },
        login: { url: 'https://me:pass-word@example.com/' },
      },
    }

    const message = await refusal({ file, purpose: 'start' })

    expect(message).toContain('store: must be sqlite:<file> or postgres://')
    expect(message).toMatch(/roles\.0: .* \(hookonce\.config\.json\)/)
    expect(message).toContain(
      'relay.leaseMs: 10000 must be longer than every timeoutMs; that of destinations.app is 15000',
    )
    expect(message).toContain('sources.github.forward[0].lane must be a path such as')
    expect(message).toContain('destinations.none.url: it is not a URL, such as https://')
    expect(message).toContain('destinations.ftp.url: it must begin with https:')
    expect(message).toContain('destinations.plain.url: it begins with http:')
    expect(message).toContain('set destinations.plain.allowPrivate to true')
    expect(message).toContain('Put them into destinations.login.headers')
    expect(message).not.toContain('pass-word')
  })

  test('with a secret that is not there has nothing else told of its source', async () => {
    // The reference itself is shorter than a secret may be.
    const sources = { github: { provider: 'github', secrets: ['env:NAME'] } }

    const message = await refusal({ file: { sources }, purpose: 'start' })

    const problem = 'sources.github.secrets.0: the environment variable NAME is not set'
    expect(message).toBe(`The config cannot be used:\n  - ${problem}`)
  })

  test('to look at events with may lack what only a receiver needs', async () => {
    const file = { sources: { github: { provider: 'github', secrets: ['short'] } } }

    expect((await load({ file })).config.sources).toHaveProperty('github')
    expect(await refusal({ file: {}, purpose: 'start' })).toContain('sources: there are none')
    const worker = new Map([['roles', { flag: '--role', value: ['work'] }]])
    expect((await load({ flags: worker, purpose: 'start' })).config.roles).toEqual(['work'])
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

  test('in TypeScript may import from this package where that is not installed', async () => {
    const folder = aFolder()
    writeFileSync(
      join(folder, 'hookonce.config.ts'),
      `import { defineConfig } from 'hookonce/config'
       export default defineConfig({ receive: { port: 4500 } })`,
    )

    expect((await loadConfig({ folder, environment: {} })).config.receive.port).toBe(4500)
  })

  test.each([
    ['null', 'hookonce.config.json', 'null', 'hookonce.config.json must be an object'],
    ['a list', 'hookonce.config.json', '[1]', 'hookonce.config.json must be an object'],
    [
      'no default export',
      'hookonce.config.ts',
      'export const config = {}',
      'hookonce.config.ts has no default export: begin it with export default',
    ],
    [
      'a secret that is nothing',
      'hookonce.config.ts',
      'export default { sources: { a: { provider: "github", secrets: [process.env.NO_SUCH_NAME] } } }',
      'sources.a.secrets.0: is missing. Check that the environment variable it comes from is set',
    ],
    [
      'a name that JSON can have and an object cannot',
      'hookonce.config.json',
      '{ "sources": { "__proto__": { "provider": "github" } } }',
      'sources.__proto__: this cannot be a name',
    ],
  ])('that is or has %s is refused with what is wrong', async (_what, name, text, message) => {
    const folder = aFolder()
    writeFileSync(join(folder, name), text)

    await expect(loadConfig({ folder, environment: {} })).rejects.toThrow(message)
  })

  test('may be in a file that exports with module.exports', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, 'hookonce.config.js'), 'module.exports = { receive: { port: 1 } }')

    expect((await loadConfig({ folder, environment: {} })).config.receive.port).toBe(1)
  })

  test.each([
    ['hookonce.config.ts', 'export default'],
    ['hookonce.config.js', 'export default'],
    ['hookonce.config.js', 'module.exports ='],
    ['hookonce.config.mjs', 'export default'],
  ])('in %s with %s is read anew each time', async (file, exports) => {
    const folder = aFolder()
    const write = (port: number): void =>
      writeFileSync(join(folder, file), `${exports} { receive: { port: ${port} } }`)

    write(1)
    const first = await load({ folder })
    write(2)
    const second = await load({ folder })

    const ports = [first, second].map(({ config }) => config.receive.port)
    expect(ports).toEqual([1, 2])
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
      encryption: { keys: [{ id: '2026-11', key: 'top-secret' }] },
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

  test.each([
    ['https://me:canary@app.example.com/hooks', 'https://***@app.example.com/hooks'],
    ['https://canary@app.example.com/hooks', 'https://***@app.example.com/hooks'],
    [
      'https://app.example.com/hooks?team=canary&token=canary#canary',
      'https://app.example.com/hooks?team=***&token=***#***',
    ],
    ['https://app.example.com/hooks?canary', 'https://app.example.com/hooks?***'],
    ['https://me:canary@app example.com/hooks', 'https://[redacted]@app example.com/hooks'],
    ['https://app.example.com', 'https://app.example.com'],
  ])('is printed without what may be a credential in a URL: %s', async (url, shown) => {
    const file = { destinations: { app: { url, secrets: [SECRET] } } }

    const settings = listSettings(await load({ file }))

    expect(settings).toContainEqual({
      path: 'destinations.app.url',
      value: shown,
      origin: 'hookonce.config.json',
    })
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
  readonly purpose?: LoadConfigOptions['purpose']
}

function load({ folder = aFolder(), file, environment = {}, ...others }: Given = {}) {
  if (file !== undefined) writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(file))
  return loadConfig({ folder, environment, ...others })
}

/** A config with one source, of which something is wrong. */
function inSource(settings: object): object {
  return { sources: { in: { provider: 'github', ...settings } } }
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
