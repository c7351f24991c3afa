/**
 * Sends requests that no honest sender would send to every provider's verifier, in as many processes as the
 * machine has processors.
 *
 *     npm run fuzz:verifiers -- --requests 1000000 --seed 42
 *
 * Exits with 1 and the first of them when one throws or is believed. The same seed makes the same
 * requests, however many processes there are.
 *
 * @module
 */

import { fork } from 'node:child_process'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fuzzVerifiers } from '../test/providers/fuzz-verifiers.ts'
import type { FuzzReport } from '../test/providers/fuzz-verifiers.ts'

/** What one process does before it reports; each share has a seed of its own. */
const SHARE = 50_000

async function main(): Promise<void> {
  const { requests, seed } = readArguments()
  const shares = Math.ceil(requests / SHARE)
  console.log(`seed ${seed}, ${shares * SHARE} requests in ${os.availableParallelism()} processes`)
  const total = { requests: 0, believed: 0, problems: [] as string[] }
  let next = 0
  const work = async (): Promise<void> => {
    while (next < shares && total.problems.length === 0) {
      const report = await runShare(seed + next++)
      total.requests += report.requests
      total.believed += report.believed
      total.problems.push(...report.problems)
    }
  }
  await Promise.all(Array.from({ length: Math.min(os.availableParallelism(), shares) }, work))
  for (const problem of total.problems.slice(0, 20)) console.error(problem)
  console.log(
    `${total.requests} requests, ${total.believed} honest enough to be believed, ${total.problems.length} problems`,
  )
  if (total.problems.length > 0) process.exitCode = 1
}

function readArguments(): { requests: number; seed: number } {
  const { values } = parseArgs({
    options: { requests: { type: 'string' }, seed: { type: 'string' } },
  })
  const requests = Number(values.requests ?? '1000000')
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  if (Number.isSafeInteger(requests) && requests > 0 && Number.isSafeInteger(seed)) {
    return { requests, seed }
  }
  console.error('Usage: fuzz:verifiers [--requests N] [--seed N]')
  process.exit(2)
}

function runShare(seed: number): Promise<FuzzReport> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [], {
      env: { ...process.env, FUZZ_SHARE_SEED: String(seed) },
    })
    let report: FuzzReport | undefined
    child.on('message', (message) => (report = message as FuzzReport))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (report === undefined) reject(new Error(`seed ${seed} ended with ${String(code)}`))
      else resolve(report)
    })
  })
}

const share = process.env['FUZZ_SHARE_SEED']
if (share === undefined || process.send === undefined) await main()
else process.send(await fuzzVerifiers({ requests: SHARE, seed: Number(share) }))
