/**
 * Counters, gauges and histograms, and how Prometheus wants to read them (text format 0.0.4).
 *
 * Labels are bounded: a metric keeps at most `SERIES_MAX` of their combinations, and counts what comes beyond under
 * `other`. A name that a stranger can choose must not be a label at all.
 *
 * @module
 */

/** The labels of one series, by name. */
export type Labels = Readonly<Record<string, string>>

interface Described {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

/** Of one metric. A few sources times a few outcomes are a hundred. */
const SERIES_MAX = 1_000

/** The series of a metric as a message between processes can carry them. */
export type CountedSeries<Value> = readonly {
  readonly labels: readonly string[]
  readonly value: Value
}[]

/** One metric: its series by what their labels say. */
class Metric<Value> {
  readonly described: Described
  readonly #series = new Map<
    string,
    { readonly labels: readonly string[]; value: Value | undefined }
  >()

  constructor(described: Described) {
    this.described = described
  }

  /** As it is now; what is counted later may change it. */
  get series(): CountedSeries<Value> {
    return [...this.#series.values()] as CountedSeries<Value>
  }

  clear(): void {
    this.#series.clear()
  }

  protected change(labels: Labels, change: (value: Value | undefined) => Value): void {
    const values = this.described.labels.map((name) => labels[name] ?? '')
    this.changeSeries(values, change)
  }

  protected changeSeries(
    values: readonly string[],
    change: (value: Value | undefined) => Value,
  ): void {
    const found = this.#find(values)
    found.value = change(found.value)
  }

  #find(values: readonly string[]): { value: Value | undefined } {
    // As JSON, because labels that are only joined could be split in another way.
    const found = this.#series.get(JSON.stringify(values))
    if (found !== undefined) return found
    const isFull = this.#series.size >= SERIES_MAX
    const labels = isFull ? values.map(() => 'other') : values
    const key = JSON.stringify(labels)
    const made = this.#series.get(key) ?? { labels, value: undefined }
    this.#series.set(key, made)
    return made
  }
}

/** Only grows, until the process ends. */
export class Counter extends Metric<number> {
  /** By 0: the series is there before anything was counted, so that Prometheus sees the first one. */
  add(labels: Labels, by = 1): void {
    this.change(labels, (value = 0) => value + by)
  }

  /** What another process has counted comes on top. */
  merge(series: CountedSeries<number>): void {
    for (const { labels, value: by } of series) this.changeSeries(labels, (value = 0) => value + by)
  }

  render(): string {
    return renderValues(this.described, 'counter', this.series)
  }
}

/** How things stand now. */
export class Gauge extends Metric<number> {
  readonly #pick: (one: number, other: number) => number

  /** `pick` says what counts of two processes that see it otherwise; left out, the larger. */
  constructor({
    pick = Math.max,
    ...described
  }: Described & { readonly pick?: (one: number, other: number) => number }) {
    super(described)
    this.#pick = pick
  }

  set(labels: Labels, to: number): void {
    this.change(labels, () => to)
  }

  /** As it stands in another process as well. */
  merge(series: CountedSeries<number>): void {
    for (const { labels, value: other } of series)
      this.changeSeries(labels, (value = other) => this.#pick(value, other))
  }

  render(): string {
    return renderValues(this.described, 'gauge', this.series)
  }
}

/** How often what took how long. */
export interface Distribution {
  /** How many fell into each bucket, and not into one before it; the last is beyond all. */
  readonly counts: number[]
  sum: number
}

/** How long things take. */
export class Histogram extends Metric<Distribution> {
  readonly #bounds: readonly number[]

  constructor(described: Described & { readonly bounds: readonly number[] }) {
    const { bounds } = described
    super(described)
    this.#bounds = bounds
  }

  observe(labels: Labels, seconds: number): void {
    const at = this.#bounds.findIndex((bound) => seconds <= bound)
    const bucket = at === -1 ? this.#bounds.length : at
    this.change(labels, (value = this.#empty()) => {
      value.counts[bucket] = (value.counts[bucket] ?? 0) + 1
      value.sum += seconds
      return value
    })
  }

  /** What another process has observed comes on top. */
  merge(series: CountedSeries<Distribution>): void {
    for (const { labels, value: other } of series)
      this.changeSeries(labels, (value = this.#empty()) => {
        for (const [at, count] of other.counts.entries())
          value.counts[at] = (value.counts[at] ?? 0) + count
        value.sum += other.sum
        return value
      })
  }

  #empty(): Distribution {
    return { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 }
  }

  render(): string {
    const { name, labels: names } = this.described
    const lines: string[] = []
    for (const { labels, value } of this.series) {
      let below = 0
      const write = (bound: string, count: number): void => {
        below += count
        const text = renderLabels([...names, 'le'], [...labels, bound])
        lines.push(`${name}_bucket${text} ${below}`)
      }
      for (const [at, bound] of this.#bounds.entries()) write(String(bound), value.counts[at] ?? 0)
      write('+Inf', value.counts[this.#bounds.length] ?? 0)
      const text = renderLabels(names, labels)
      lines.push(`${name}_sum${text} ${value.sum}`, `${name}_count${text} ${below}`)
    }
    return renderMetric(this.described, 'histogram', lines)
  }
}

function renderValues(described: Described, type: string, series: CountedSeries<number>): string {
  const lines = series.map(
    ({ labels, value }) => `${described.name}${renderLabels(described.labels, labels)} ${value}`,
  )
  return renderMetric(described, type, lines)
}

/** Nothing at all for a metric without a series: there is nothing to say of it yet. */
function renderMetric({ name, help }: Described, type: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function renderLabels(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return ''
  const pairs = names.map((name, at) => `${name}="${escapeLabel(values[at] ?? '')}"`)
  return `{${pairs.join(',')}}`
}

/** A quote or a line feed in a label would begin another series, or another metric. */
function escapeLabel(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
