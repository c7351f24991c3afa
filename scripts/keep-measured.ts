/**
 * Keeps what a script has measured, where `npm run bench` keeps its results: with the command, and the machine it ran
 * on. `--keep` of `run-lanes.ts`, `measure-lanes.ts`, `measure-at-rest.ts`, `measure-disk.ts`, `measure-search.ts`,
 * `fleet.ts` and `crash-gateway.ts`.
 *
 * @module
 */

import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkloadResult } from '../bench/harness/measurement.ts'
import { nameResult, readResults, renderReadme } from '../bench/harness/report.ts'
import type { StoredResult } from '../bench/harness/report.ts'

export interface Measured extends Pick<WorkloadResult, 'title' | 'checks'> {
  /** Such as `lanes-postgres`: the name of its file, after the day. */
  readonly id: string
  /** What it is run by, where that builds something first. Left out, `npx tsx` and the script. */
  readonly runBy?: string
  /** Left out, there was one. */
  readonly rounds?: number
  /** What was compared, where the rates are of a number of rounds. */
  readonly compared?: Pick<WorkloadResult, 'contestants' | 'ratios'>
  /** What was printed, number by number. */
  readonly measured: unknown
  /** What the figures depend on beside Node and the machine, such as PostgreSQL's own version. */
  readonly versions?: Readonly<Record<string, string>>
}

const RESULTS_DIR = fileURLToPath(new URL('../bench/results/', import.meta.url))

export function keepMeasured({
  id,
  title,
  checks,
  measured,
  rounds = 1,
  compared = { contestants: [], ratios: [] },
  versions = {},
  ...given
}: Measured): void {
  const [, script = '', ...words] = process.argv
  const { runBy = `npx tsx scripts/${basename(script)}` } = given
  const stored: StoredResult & { readonly measured: unknown } = {
    command: [runBy, ...words].join(' '),
    at: new Date().toISOString(),
    rounds,
    note: undefined,
    machine: {
      cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
      cores: os.availableParallelism(),
      memoryGb: Math.round(os.totalmem() / 2 ** 30),
      system: `${os.type()} ${os.release()} ${os.arch()}`,
      versions: { node: process.version.slice(1), ...versions },
      postgresSettings: {},
    },
    result: { workload: id, title, ...compared, checks },
    measured,
  }
  const text = `${JSON.stringify(stored, undefined, 2)}\n`
  writeFileSync(join(RESULTS_DIR, nameResult(stored)), text)
  writeFileSync(join(RESULTS_DIR, 'README.md'), renderReadme(readResults(RESULTS_DIR)))
}
