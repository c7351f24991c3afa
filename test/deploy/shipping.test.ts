import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
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
    ])
  })
})
