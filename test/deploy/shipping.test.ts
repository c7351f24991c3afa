import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import { QUIET } from '../support/through-gateway.ts'
import { findProgram } from '../support/tools/find-or-install.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (file: string) => readFileSync(path.join(DEPLOY, file), 'utf8')
const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly bin: { readonly hookonce: string } }
/** Where the command is after an installation. */
const COMMAND = path.posix.join('node_modules/hookonce', manifest.bin.hookonce)

describe('the Dockerfile', () => {
  const lines = read('docker/Dockerfile')
    .replaceAll('\\\n', '')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))

  test('runs the command that the package has, and not as root', () => {
    expect(JSON.parse(valuesOf('ENTRYPOINT')[0] ?? '')).toEqual(['node', COMMAND])
    expect(valuesOf('USER')).toEqual(['node'])
    const last = lines.findLastIndex((line) => line.startsWith('USER '))
    expect(lines.slice(last).filter((line) => /^(RUN|COPY|ADD) /.test(line))).toEqual([])
  })

  test('leaves behind what only an installation needs', () => {
    expect(valuesOf('FROM')).toHaveLength(2)
    expect(valuesOf('COPY')[0]).toMatch(/^--from=install /)
  })
})

describe('what asks for the health of a process', () => {
  const dockerfile = read('docker/Dockerfile')
  const [, ofDocker = '[]'] = /^HEALTHCHECK [^]*?\n {2}CMD (.*)$/m.exec(dockerfile) ?? []
  const workers = read('helm/hookonce/templates/workers.yaml')
  const commandOf = (probe: string, port: number) => {
    const [, code = ''] = new RegExp(`${probe}:[^]*?- -e\\n +- (.*)\\n`).exec(workers) ?? []
    return ['node', '-e', code.replace('4401', String(port))]
  }

  test.each([
    ['receive', ['receive']],
    ['work and admin', ['work', 'admin']],
  ])('Docker knows one with the roles %s to be well, and none that is gone', async (_, roles) => {
    const gateway = await startWith(roles)
    const ports = {
      HOOKONCE_RECEIVE__PORT: String(gateway.address?.port ?? 1),
      HOOKONCE_ADMIN__PORT: String(gateway.adminAddress?.port ?? 1),
    }
    const command = JSON.parse(ofDocker) as readonly string[]

    expect(await run(command, ports)).toBe(0)
    await gateway.stop()
    expect(await run(command, ports)).toBe(1)
  })

  test('Kubernetes knows a worker to be well, and to be ready when its store is open', async () => {
    const gateway = await startWith(['work', 'relay', 'admin'])
    const port = gateway.adminAddress?.port ?? 1
    const ask = () =>
      Promise.all(['livenessProbe', 'readinessProbe'].map((name) => run(commandOf(name, port))))

    expect(await ask()).toEqual([0, 0])
    await gateway.inbox.stop()
    expect(await ask()).toEqual([0, 1])
    await gateway.stop()
    expect(await ask()).toEqual([1, 1])
  })

  test('every process of the chart has a listener to ask', () => {
    const roles = ['receivers', 'workers'].map(
      (name) => /--role=(.*)/.exec(read(`helm/hookonce/templates/${name}.yaml`))?.[1],
    )

    expect(roles).toEqual([expect.stringContaining('receive'), 'work,relay,admin'])
    expect(workers).toContain('--admin-port=4401')
  })

  async function startWith(roles: readonly string[]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'hookonce-health-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const config = configSchema.parse({
      store: 'sqlite:hookonce.db',
      receive: { port: 0 },
      admin: { port: 0 },
      roles,
      sources: { stripe: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } },
    })
    const gateway = await startGateway({ config, folder, logger: QUIET })
    onTestFinished(() => gateway.stop())
    await gateway.untilStarted()
    return gateway
  }

  /** How it ends. */
  async function run(
    [name, ...args]: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    expect(name).toBe('node')
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' })
    const [code] = (await once(child, 'exit')) as unknown[]
    return code
  }
})

describe('the compose file', () => {
  interface Service {
    readonly environment: Readonly<Record<string, string>>
    readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
    readonly volumes?: readonly string[]
    readonly ports?: readonly string[]
    readonly healthcheck?: unknown
  }
  const { services, volumes } = parse(read('docker/compose.yaml')) as {
    readonly services: Readonly<Record<'gateway' | 'postgres', Service>>
    readonly volumes: Readonly<Record<string, unknown>>
  }

  test('keeps the database on a volume, and starts the gateway after it', () => {
    expect(services.postgres.volumes?.map((volume) => volume.split(':')[0])).toEqual(
      Object.keys(volumes),
    )
    expect(services.postgres.healthcheck).toBeDefined()
    expect(services.gateway.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
  })

  test('has no password in it, and no port that the world can reach', () => {
    const { POSTGRES_USER: user, POSTGRES_DB: database } = services.postgres.environment
    expect(services.postgres.environment['POSTGRES_PASSWORD']).toMatch(/^\$\{POSTGRES_PASSWORD:\?/)
    expect(services.gateway.environment['HOOKONCE_STORE']).toBe(
      `postgres://${user}:\${POSTGRES_PASSWORD}@postgres:5432/${database}`,
    )
    expect(services.gateway.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)])
  })
})

describe('the systemd unit', () => {
  const analyze = findProgram('systemd-analyze')

  test('starts the command that the package has', () => {
    expect(read('systemd/hookonce.service')).toMatch(
      new RegExp(`^ExecStart=/usr/bin/env node /opt/hookonce/${COMMAND} start `, 'm'),
    )
  })

  test.skipIf(analyze === undefined)('is one that systemd takes', () => {
    const unit = path.join(DEPLOY, 'systemd/hookonce.service')

    expect(execFileSync(analyze ?? '', ['verify', unit], { stdio: 'pipe' }).toString()).toBe('')
  })
})

describe('the Helm chart', () => {
  const folder = 'helm/hookonce'
  const values = parse(read(`${folder}/values.yaml`)) as Record<string, unknown>
  const templates = readdirSync(path.join(DEPLOY, folder, 'templates')).map((name) => ({
    name,
    text: read(`${folder}/templates/${name}`),
  }))
  const all = templates.map(({ text }) => text).join('\n')

  test('has the version of the package', () => {
    const { version, appVersion } = parse(read(`${folder}/Chart.yaml`)) as Record<string, unknown>
    expect([version, appVersion]).toEqual([manifest.version, manifest.version])
  })

  test('every value that a template uses has a default, and every default is used', () => {
    const used = Array.from(all.matchAll(/\.Values\.([\w.]+)/g), ([, place]) => place as string)
    const isThere = (place: string) =>
      place
        .split('.')
        .reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], values) !==
      undefined

    expect(used.filter((place) => !isThere(place))).toEqual([])
    expect(new Set(used.map((place) => place.split('.')[0]))).toEqual(new Set(Object.keys(values)))
  })

  test('every part that is included is defined, and every block has an end', () => {
    const names = (pattern: RegExp) =>
      new Set(Array.from(all.matchAll(pattern), ([, name]) => name))
    expect(names(/include "([\w.]+)"/g)).toEqual(names(/define "([\w.]+)"/g))
    for (const { name, text } of templates) {
      const opened = text.match(/\{\{-? (?:if|with|range|define) /g)?.length ?? 0
      expect([name, text.match(/\{\{-? end /g)?.length ?? 0]).toEqual([name, opened])
    }
  })

  test('has a Service for the admin port of every pod, where that can be reached', () => {
    const { text = '' } = templates.find(({ name }) => name === 'metrics.yaml') ?? {}
    const [opened = '', ...lines] = text.trimEnd().split('\n')
    const { spec } = parse(
      lines
        .slice(0, -1)
        .filter((line) => !line.includes('{{- include'))
        .join('\n')
        .replace(/\{\{.*?\}\}/g, 'release'),
    ) as { readonly spec: object }
    const ports = templates.flatMap(({ text: one }) =>
      Array.from(one.matchAll(/- name: (\w+)\n +containerPort: 4401/g), ([, name]) => name),
    )

    expect(opened).toBe('{{- if .Values.admin.enabled }}')
    expect(spec).toEqual({
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { 'app.kubernetes.io/instance': 'release' },
      ports: [{ name: 'admin', port: 4401, targetPort: 'admin' }],
    })
    expect(ports).toEqual(['admin', 'admin'])
  })

  test('does not have pods told of services, whose variables begin as ours do', () => {
    const pods = templates.filter(({ text }) => text.includes('      containers:\n'))

    expect(pods.map(({ name }) => name)).toEqual(['receivers.yaml', 'workers.yaml'])
    for (const { text } of pods) expect(text).toMatch(/^ {6}enableServiceLinks: false$/m)
  })

  test('is YAML of Kubernetes where its values are put in', () => {
    const documents = templates
      .filter(({ name }) => name.endsWith('.yaml'))
      .flatMap(({ text }) =>
        parseAllDocuments(
          text
            // Lines that only begin or end something, or put in several lines.
            .replace(/^ *\{\{-.*\}\}\n/gm, '')
            .replace(/\{\{.*?\}\}/g, 'value'),
        ),
      )

    expect(documents.flatMap(({ errors }) => errors)).toEqual([])
    const kinds = documents.map((one) => (one.toJS() as { readonly kind: string }).kind).toSorted()
    expect(kinds).toEqual([
      'ConfigMap',
      'Deployment',
      'Deployment',
      'PodDisruptionBudget',
      'Service',
      'Service',
    ])
  })
})
