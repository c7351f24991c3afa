import { describe, expect, test } from 'vitest'
import { Counter, Gauge, Histogram } from '../../src/metrics/registry.ts'

const counter = () => new Counter({ name: 'n_total', help: 'Some.', labels: ['source'] })

describe('metrics', () => {
  test('a counter is a line for each of its labels', () => {
    const counted = counter()
    counted.add({ source: 'stripe' })
    counted.add({ source: 'stripe' }, 2)
    counted.add({ source: 'github' }, 0)

    expect(counted.render()).toBe(
      '# HELP n_total Some.\n# TYPE n_total counter\nn_total{source="stripe"} 3\nn_total{source="github"} 0\n',
    )
  })

  test('a gauge without labels has none, and says what was set last', () => {
    const gauge = new Gauge({ name: 'up', help: 'Up.', labels: [] })
    gauge.set({}, 1)
    gauge.set({}, 0)

    expect(gauge.render()).toBe('# HELP up Up.\n# TYPE up gauge\nup 0\n')
  })

  test('a bucket of a histogram has all that took no longer', () => {
    const histogram = new Histogram({ name: 's', help: 'Long.', labels: ['to'], bounds: [0.1, 1] })
    for (const seconds of [0.1, 0.5, 7]) histogram.observe({ to: 'app' }, seconds)

    expect(histogram.render().split('\n').slice(2, -1)).toEqual([
      's_bucket{to="app",le="0.1"} 1',
      's_bucket{to="app",le="1"} 2',
      's_bucket{to="app",le="+Inf"} 3',
      's_sum{to="app"} 7.6',
      's_count{to="app"} 3',
    ])
  })

  test('nothing is said of a metric that has no series', () => {
    expect(counter().render()).toBe('')
  })

  test('a label cannot end its line or begin another', () => {
    const counted = counter()
    counted.add({ source: 'a"} 1\nhookonce_store_up 0\\' })

    expect(counted.render().split('\n')[2]).toBe(
      'n_total{source="a\\"} 1\\nhookonce_store_up 0\\\\"} 1',
    )
  })

  test('labels that differ in where one ends are two series', () => {
    const counted = new Counter({ name: 'n_total', help: 'Some.', labels: ['a', 'b'] })
    counted.add({ a: 'x","y', b: 'z' })
    counted.add({ a: 'x', b: 'y","z' })

    expect(counted.render().split('\n').slice(2, -1)).toHaveLength(2)
  })

  test('what comes beyond a thousand series is counted as other', () => {
    const counted = counter()
    for (let at = 0; at < 1_500; at += 1) counted.add({ source: `s${at}` })
    counted.add({ source: 's3' })

    const lines = counted.render().split('\n').slice(2, -1)
    expect(lines).toHaveLength(1_001)
    expect(lines).toContain('n_total{source="other"} 500')
    expect(lines).toContain('n_total{source="s3"} 2')
  })

  test('of several processes are summed, but for gauges: of those the metric says which counts', () => {
    const bounds = [1]
    const make = () => ({
      counted: counter(),
      highest: new Gauge({ name: 'h', help: 'High.', labels: [] }),
      lowest: new Gauge({ name: 'l', help: 'Low.', labels: [], pick: Math.min }),
      took: new Histogram({ name: 't', help: 'Took.', labels: [], bounds }),
    })
    const [sum, ...processes] = [make(), make(), make()]
    for (const [at, { counted, highest, lowest, took }] of processes.entries()) {
      counted.add({ source: 'stripe' }, at + 1)
      highest.set({}, at)
      lowest.set({}, at)
      took.observe({}, at * 2)
      sum.counted.merge(counted.series)
      sum.highest.merge(highest.series)
      sum.lowest.merge(lowest.series)
      sum.took.merge(took.series)
    }

    const lines = Object.values(sum).flatMap((metric) => metric.render().split('\n'))
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
      'n_total{source="stripe"} 3',
      'h 1',
      'l 0',
      't_bucket{le="1"} 1',
      't_bucket{le="+Inf"} 2',
      't_sum 2',
      't_count 2',
    ])
    expect(processes[0]?.took.render()).toContain('t_count 1')
  })
})
