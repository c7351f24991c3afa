/**
 * Measures contestants side by side. On a shared machine an absolute figure is noise: each round runs
 * every contestant once, in another order, and the result is the ratio inside a round.
 *
 * @module
 */

import { formatFigure } from './format-figure.ts'
import { measureRatio } from './measure-ratio.ts'
import type {
  Check,
  Contestant,
  Goal,
  MeasuredContestant,
  MeasuredRatio,
  Measurement,
  Setting,
} from './measurement.ts'

export interface Comparison {
  readonly contestants: readonly Contestant[]
  readonly goals: readonly Goal[]
  readonly rounds: number
  readonly only: string
  readonly say: (line: string) => void
}

export async function compare({ contestants: all, goals, rounds, only, say }: Comparison): Promise<{
  contestants: readonly MeasuredContestant[]
  ratios: readonly MeasuredRatio[]
  checks: readonly Check[]
}> {
  const contestants = all.filter(({ name }) => name.includes(only))
  const tuned: Tuned[] = []
  for (const contestant of contestants) tuned.push(await tune(contestant, say))

  const measurements = new Map<string, Measurement[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < tuned.length; place += 1) {
      const { contestant, setting } = tuned[(place + round) % tuned.length]!
      const measured = await contestant.measure(setting)
      measurements.get(contestant.name)!.push(measured)
      say(`  round ${round + 1}  ${contestant.name.padEnd(34)} ${describe(measured)}`)
    }
  }
  return {
    contestants: tuned.map(({ contestant: { name, runtime }, setting, tried }) => {
      return { name, runtime, setting, tried, measurements: measurements.get(name)! }
    }),
    ratios: goals.flatMap((goal) => measureRatio(goal, measurements) ?? []),
    checks: contestants
      .filter(({ isOurs }) => isOurs)
      .map(({ name }) => checkEffects(name, measurements.get(name)!)),
  }
}

interface Tuned {
  readonly contestant: Contestant
  readonly setting: Setting
  readonly tried: MeasuredContestant['tried']
}

async function tune(contestant: Contestant, say: Comparison['say']): Promise<Tuned> {
  const [first] = contestant.settings
  if (first === undefined) throw new Error(`${contestant.name} has no setting`)
  if (contestant.settings.length === 1) return { contestant, setting: first, tried: [] }
  const tried: { setting: Setting; measurement: Measurement }[] = []
  for (const setting of contestant.settings) {
    const measurement = await contestant.measure(setting)
    tried.push({ setting, measurement })
    say(
      `  trying   ${contestant.name.padEnd(34)} ${describe(measurement)}  ${JSON.stringify(setting)}`,
    )
  }
  const sound = tried.filter(({ measurement: { lost, doubled } }) => lost === 0 && doubled === 0)
  const best = (sound.length > 0 ? sound : tried).reduce((a, b) =>
    b.measurement.rate > a.measurement.rate ? b : a,
  )
  return { contestant, setting: best.setting, tried }
}

function checkEffects(name: string, measured: readonly Measurement[]): Check {
  const lost = measured.reduce((sum, each) => sum + each.lost, 0)
  const doubled = measured.reduce((sum, each) => sum + each.doubled, 0)
  return {
    name: `${name} loses and doubles nothing`,
    isOk: lost === 0 && doubled === 0,
    detail: `${lost} lost, ${doubled} doubled`,
  }
}

function describe({ rate, lost, doubled, notes, figures = {} }: Measurement): string {
  const trouble = lost + doubled > 0 ? `  ${lost} lost, ${doubled} doubled` : ''
  const noted = [
    ...Object.entries(figures).map(([name, value]) => `  ${name} ${formatFigure(value)}`),
    ...Object.entries(notes).map(([name, value]) => `  ${name} ${value}`),
  ]
  return `${Math.round(rate).toLocaleString('en').padStart(8)}/s${trouble}${noted.join('')}`
}
