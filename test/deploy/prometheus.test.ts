import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { defineMetrics, defineStoreMetrics } from '../../src/metrics/definitions.ts'
import { Histogram } from '../../src/metrics/registry.ts'

const { promtool } = inject('tools')
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ALERTS = path.join(ROOT, 'deploy/prometheus/alerts.yml')
const DASHBOARD = path.join(ROOT, 'deploy/grafana/hookonce.json')

const metrics = [...Object.values(defineMetrics()), ...Object.values(defineStoreMetrics())]
const described = metrics.map(({ described: { name, labels } }) => ({ name, labels }))
/** The names of all series that a page can have. */
const series = new Set(
  metrics.flatMap((metric) => {
    const { name } = metric.described
    return metric instanceof Histogram ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]
  }),
)

const namesIn = (text: string): readonly string[] => [
  ...new Set(Array.from(text.matchAll(/\bhookonce_\w+/g), ([name]) => name)),
]

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets: readonly { readonly expr: string }[]
}

function readDashboard(): { readonly panels: readonly Panel[] } {
  return JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { readonly panels: readonly Panel[] }
}

describe('alerts and dashboard', () => {
  test.each([
    ['alerts', ALERTS],
    ['dashboard', DASHBOARD],
  ])('every metric that the %s name is there', (_, file) => {
    const names = namesIn(readFileSync(file, 'utf8'))

    expect(names.length).toBeGreaterThan(5)
    expect(names.filter((name) => !series.has(name))).toEqual([])
  })

  test('every metric is on the dashboard', () => {
    const shown = namesIn(readFileSync(DASHBOARD, 'utf8'))
    const isShown = (name: string) =>
      shown.some((each) => each === name || each === `${name}_bucket`)

    expect(described.filter(({ name }) => !isShown(name))).toEqual([])
  })

  test('no panel lies on another', () => {
    const { panels } = readDashboard()
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )

    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  test.skipIf(promtool === null)(
    'Prometheus takes the rules, and they tell what they should',
    () => {
      const run = (...args: readonly string[]) =>
        execFileSync(promtool ?? '', args, { cwd: ROOT, stdio: 'pipe' }).toString()

      expect(run('check', 'rules', ALERTS)).toMatch(/SUCCESS: \d+ rules found/)
      expect(run('test', 'rules', 'test/deploy/alerts.test.yml')).toContain('SUCCESS')
    },
  )

  test.skipIf(promtool === null)('Prometheus can read what every panel asks', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'hookonce-dashboard-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const rules = readDashboard()
      .panels.flatMap(({ targets }) => targets)
      .map(({ expr }, at) => ({
        record: `panel:expression${at}`,
        // What Grafana puts in.
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$source', '.*'),
      }))
    // JSON is YAML.
    const file = path.join(folder, 'panels.yml')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))

    expect(execFileSync(promtool ?? '', ['check', 'rules', file]).toString()).toContain(
      `SUCCESS: ${rules.length} rules found`,
    )
  })

  test('the page of the documentation has every metric with its labels', () => {
    const page = readFileSync(path.join(ROOT, 'docs/metrics.md'), 'utf8')
    const rows = Array.from(
      page.matchAll(/^\| `(hookonce_\w+)` +\| (.*?) +\|/gm),
      ([, name, labels]) => ({
        name,
        labels: Array.from((labels ?? '').matchAll(/`(\w+)`/g), ([, label]) => label),
      }),
    )

    const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
      (a.name ?? '') < (b.name ?? '') ? -1 : 1
    expect(rows.toSorted(byName)).toEqual(described.toSorted(byName))
  })
})
