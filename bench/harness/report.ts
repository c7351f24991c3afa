import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { alignTable } from './align-table.ts'
import { medianOf } from './measure-ratio.ts'
import { RESULTS_DIR } from './folders.ts'
import type { Machine } from './machine.ts'
import { formatFigure } from './format-figure.ts'
import type {
  FigureName,
  Goal,
  MeasuredContestant,
  MeasuredRatio,
  WorkloadResult,
} from './measurement.ts'

/** A result with everything needed to take it again. */
export interface StoredResult {
  readonly command: string
  readonly at: string
  readonly rounds: number
  readonly note: string | undefined
  readonly machine: Machine
  readonly result: WorkloadResult
}

export function printResult({ contestants, ratios, checks }: WorkloadResult): void {
  const figures = tableFigures(contestants)
  if (figures !== undefined) console.log(alignTable(figures))
  for (const ratio of ratios) console.log(`  ${nameRatio(ratio)}: ${describeRatio(ratio)}`)
  for (const { name, isOk, detail } of checks)
    console.log(`  ${isOk ? 'ok    ' : 'FAILED'} ${name}: ${detail}`)
}

export function writeResult(stored: StoredResult): void {
  mkdirSync(RESULTS_DIR, { recursive: true })
  writeFileSync(join(RESULTS_DIR, nameResult(stored)), `${JSON.stringify(stored, undefined, 2)}\n`)
}

/** A file for each day and workload: of two runs on one day the later one stays. */
export function nameResult({ at, result }: StoredResult): string {
  return `${at.slice(0, 10)}-${result.workload}.json`
}

export function writeReadme(): void {
  writeFileSync(join(RESULTS_DIR, 'README.md'), renderReadme(readResults(RESULTS_DIR)))
}

/** Every result of a folder, the earlier ones first. */
export function readResults(folder: string): readonly StoredResult[] {
  const names = readdirSync(folder).filter((each) => each.endsWith('.json'))
  return names
    .sort()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as StoredResult)
}

/** One page from the latest result of every workload, and of every part that was taken away. */
export function renderReadme(results: readonly StoredResult[]): string {
  const latest = new Map(results.map((stored) => [stored.result.workload, stored]))
  const sections = [...latest.values()]
    .sort((a, b) => a.result.workload.localeCompare(b.result.workload))
    .map(describeStored)
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`
}

const INTRODUCTION = `# Results

Written by \`npm run bench\`, from the latest result of each workload. A ratio inside one run is the
result; a rate by itself says more about the machine than about what ran on it. Ratios are the median
of the rounds, with the smallest and the largest beside it.

Beside the rate there are figures, each the median of the rounds; \`–\` is one that could not be taken.

| figure | what it is |
| --- | --- |
| own µs/event | processor time of the process that works, by its own \`process.cpuUsage()\`; on SQLite the database is in it |
| database µs/event | processor time of all processes of PostgreSQL, from \`/proc\`; of Redis, as it says itself |
| log bytes/event | how far PostgreSQL's write-ahead log moved, or Redis's append-only file grew |
| commits/event | records of a commit in the write-ahead log, by \`pg_walinspect\`; a transaction that wrote nothing has none |
| flushes/event | syncs of the write-ahead log, from \`pg_stat_io\`; of W1 and W4 with those of the warm-up, among its events too |
| statements/100 requests | what the server sent to PostgreSQL |
| answer p50, p99 ms | until a request was answered; in W7 from when it was due |
| answers/s | of requests, where the rate is that of events that are done |
| rate late/early | events done a second at the end of the run against its beginning |
| done p50, p99 ms | from stored to done, both as the process saw them |
| delivery to done p50, p99 ms | from the delivery on, so that it includes how long it takes to be stored |
| memory MB | the most that the process held (RSS) |
| memory late/early | the last fifth of the run against the second |
| idle ms/s | processor time a second when there was nothing to do any more |

\`npm run ablate\` writes the sections about parts that were taken away, one for each. The
scripts that are named in a section's command write it with \`--keep\`.`

function describeStored({ command, at, rounds, note, machine, result }: StoredResult): string {
  const { workload, title, contestants, ratios, checks } = result
  return [
    `## ${workload}: ${title}`,
    `\`${command}\`, ${at.slice(0, 10)}, ${rounds} rounds. ${describeMachine(machine)}`,
    ...(note === undefined ? [] : [note]),
    ...(ratios.length === 0
      ? []
      : [table(['ratio', 'measured', 'goal', ''], ratios.map(ratioRow))]),
    ...(contestants.length === 0
      ? []
      : [
          table(
            ['what ran', 'events/s, median (min to max)', 'lost', 'doubled', 'setting'],
            contestants.map(contestantRow),
          ),
        ]),
    ...renderFigures(contestants),
    ...contestants.filter(({ tried }) => tried.length > 0).map(describeTried),
    checks
      .map(({ name, isOk, detail }) => `- ${isOk ? 'ok' : '**failed**'}: ${name} (${detail})`)
      .join('\n'),
  ].join('\n\n')
}

function describeMachine({
  cpu,
  cores,
  memoryGb,
  system,
  versions,
  postgresSettings,
}: Machine): string {
  const list = (record: Readonly<Record<string, string>>) =>
    Object.entries(record)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')
  const settings = list(postgresSettings)
  const about = `${cores} cores of ${cpu}, ${memoryGb} GB, ${system}; ${list(versions)}`
  return settings === '' ? `${about}.` : `${about}; ${settings}.`
}

function ratioRow(ratio: MeasuredRatio): string[] {
  return [
    nameRatio(ratio),
    describeSpread(ratio),
    describeGoal(ratio),
    !hasGoal(ratio) ? '' : ratio.isReached ? 'reached' : '**not reached**',
  ]
}

function contestantRow({ name, setting, measurements }: MeasuredContestant): string[] {
  const rates = measurements.map(({ rate }) => rate)
  const sum = (pick: (each: (typeof measurements)[number]) => number) =>
    String(measurements.reduce((total, each) => total + pick(each), 0))
  const spread = `${format(Math.min(...rates))} to ${format(Math.max(...rates))}`
  return [
    name,
    `${format(medianOf(rates))} (${spread})`,
    sum(({ lost }) => lost),
    sum(({ doubled }) => doubled),
    describeSetting(setting),
  ]
}

function describeTried({ name, tried }: MeasuredContestant): string {
  const list = tried.map(
    ({ setting, measurement }) => `${describeSetting(setting)}: ${format(measurement.rate)}/s`,
  )
  return `Tried for ${name}: ${list.join('; ')}.`
}

function describeSetting(setting: MeasuredContestant['setting']): string {
  return Object.entries(setting)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

function describeRatio(ratio: MeasuredRatio): string {
  return `${describeSpread(ratio)}, goal ${describeGoal(ratio)}${ratio.isReached ? '' : '  NOT REACHED'}`
}

export function describeSpread({ median, min, max }: MeasuredRatio): string {
  const [middle, least, most] = [median, min, max].map((value) =>
    value < 0.1 ? formatFigure(value) : value.toFixed(2),
  )
  return `${middle} (${least} to ${most})`
}

function nameRatio({ of, against, figure }: Goal): string {
  const compared = against === undefined ? of : `${of} / ${against}`
  return figure === undefined ? compared : `${figure}: ${compared}`
}

/** Without one it is measured to be known. */
function describeGoal({ atLeast, atMost }: Goal): string {
  if (atLeast !== undefined) return `≥ ${formatFigure(atLeast)}`
  return atMost === undefined ? 'none' : `≤ ${formatFigure(atMost)}`
}

function hasGoal({ atLeast, atMost }: Goal): boolean {
  return atLeast !== undefined || atMost !== undefined
}

/** A row for each contestant, a column for each figure that any of them has; medians over the rounds. */
function tableFigures(
  contestants: readonly MeasuredContestant[],
): readonly (readonly string[])[] | undefined {
  const names = new Set(
    contestants.flatMap(({ measurements }) =>
      measurements.flatMap(({ figures = {} }) => Object.keys(figures) as FigureName[]),
    ),
  )
  if (names.size === 0) return undefined
  const rows = contestants.map(({ name, measurements }) => [
    name,
    ...[...names].map((figure) => {
      const values = measurements.flatMap(({ figures }) => figures?.[figure] ?? [])
      return values.length === 0 ? '–' : formatFigure(medianOf(values))
    }),
  ])
  return [['median', ...names], ...rows]
}

function renderFigures(contestants: readonly MeasuredContestant[]): readonly string[] {
  const [head, ...rows] = tableFigures(contestants) ?? []
  return head === undefined ? [] : [table(head, rows)]
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
