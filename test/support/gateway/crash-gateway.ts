/**
 * A gateway that is killed with -9 at random while events come in, and what reached the service behind it.
 *
 *     senders ─▶ gateway, killed and started again ─▶ a service, which is down for a while
 *
 * Each event is signed as its provider does and delivered up to three times at once, again and again until one of the
 * deliveries is answered with a success, as providers do. When the last kill is over everything that was answered
 * must reach the service.
 *
 * @module
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sign } from '../../../src/testing/index.ts'
import { bundleCommand } from '../faults/bundle-program.ts'
import type { Random } from '../faults/random.ts'
import { until } from '../faults/until.ts'
import { Child } from './child.ts'
import { readArrivals } from './destination-process.ts'

const SECRET = 'whsec_0123456789abcdef'
const DESTINATION = fileURLToPath(new URL('./destination-process.ts', import.meta.url))
const SENDERS = 4
/** One kill of so many comes while the gateway starts, before it serves. */
const IN_START = 6

export interface CrashPlan {
  /** As a config has it. */
  readonly store: string
  readonly kills: number
  readonly random: Random
  /** The command; left out, from its source. */
  readonly main?: string
  readonly onKill?: (done: number) => void
}

/** What was sent, and what arrived. */
export interface CrashCounts {
  readonly kills: number
  /** Events that were answered with a success at least once. */
  readonly acknowledged: number
  readonly deliveries: number
  /** Deliveries that ended without an answer. */
  readonly cut: number
  /** Deliveries that were answered with something else than 200 or 503. */
  readonly unexpected: readonly number[]
  /** Requests that the service got, with those it knew. */
  readonly requests: number
  readonly webhookIds: number
  readonly arrived: number
  readonly effects: number
  /** Events that were answered and did not arrive. */
  readonly lost: readonly string[]
  /** Events that had more than one effect, or more than one id. */
  readonly doubled: readonly string[]
}

export async function crashGateway(plan: CrashPlan): Promise<CrashCounts> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-killed-'))
  const run = new CrashRun(plan, folder)
  try {
    return await run.run()
  } finally {
    await run.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

class CrashRun {
  readonly #plan: CrashPlan
  readonly #folder: string
  readonly #file: string
  readonly #acknowledged = new Set<string>()
  readonly #unexpected: number[] = []
  #deliveries = 0
  #cut = 0
  #isOver = false
  #port = 0
  #gateway: Child | undefined
  #destination: Child | undefined
  #destinationPort = 0

  constructor(plan: CrashPlan, folder: string) {
    this.#plan = plan
    this.#folder = folder
    this.#file = join(folder, 'arrivals.jsonl')
  }

  async run(): Promise<CrashCounts> {
    await this.#startDestination()
    this.#writeConfig()
    this.#startGateway()
    const said = await this.#gateway?.untilWritten('gateway.started')
    this.#port = Number(/"receive":\{[^}]*"port":(\d+)/.exec(said ?? '')?.[1])
    const senders = Array.from({ length: SENDERS }, (_, index) => this.#send(index))
    await this.#kill()
    this.#isOver = true
    await Promise.all(senders)
    await until('what was answered has arrived', () => this.#lost().length === 0, {
      limitMs: 120_000,
      everyMs: 200,
    }).catch(() => undefined)
    return this.#count()
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#gateway?.kill(), this.#destination?.kill()])
  }

  /** The service is killed after a third of the kills, and is back two kills later. */
  async #kill(): Promise<void> {
    const { kills, random, onKill } = this.#plan
    const downAt = Math.floor(kills / 3)
    for (let done = 0; done < kills; done += 1) {
      if (done === downAt) await this.#destination?.kill()
      if (done === downAt + 2) await this.#startDestination()
      if (random.between(1, IN_START) > 1) await this.#gateway?.untilWritten('gateway.started')
      await new Promise((resolve) => setTimeout(resolve, random.between(20, 800)))
      await this.#gateway?.kill()
      this.#startGateway()
      onKill?.(done + 1)
    }
    if (this.#destination?.hasEnded === true) await this.#startDestination()
    await this.#gateway?.untilWritten('gateway.started')
  }

  #startGateway(): void {
    const { store, main = bundleCommand() } = this.#plan
    const args = ['start', '--store', store, '--port', String(this.#port)]
    this.#gateway = new Child(main, args, this.#folder)
  }

  async #startDestination(): Promise<void> {
    const args = [String(this.#destinationPort), this.#file]
    this.#destination = new Child(DESTINATION, args, this.#folder)
    this.#destinationPort = Number.parseInt(await this.#destination.untilWritten(/^\d+\n/), 10)
  }

  #writeConfig(): void {
    const config = {
      // Short, so that what a killed gateway was sending is sent again within the run.
      relay: { leaseMs: 3_000 },
      sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
      destinations: {
        app: {
          url: `http://127.0.0.1:${this.#destinationPort}/`,
          allowPrivate: true,
          timeoutMs: 2_000,
          retry: { firstMs: 100, factor: 1, attemptsMax: 1_000 },
          breakerMs: 200,
        },
      },
    }
    writeFileSync(join(this.#folder, 'hookonce.config.json'), JSON.stringify(config))
  }

  async #send(sender: number): Promise<void> {
    const { random } = this.#plan
    for (let index = 0; !this.#isOver; index += 1) {
      const key = `evt_${sender}_${index}`
      const copies = random.between(1, 3)
      while (!this.#acknowledged.has(key)) {
        const sent = Array.from({ length: copies }, () => this.#deliver(key))
        const answers = await Promise.all(sent)
        if (answers.includes(200)) this.#acknowledged.add(key)
        // A provider does not come again at once.
        else await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  async #deliver(key: string): Promise<number | undefined> {
    const { headers, body } = sign('stripe', { key }, { secret: SECRET })
    this.#deliveries += 1
    try {
      const { status } = await fetch(`http://127.0.0.1:${this.#port}/in/stripe`, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: new Uint8Array(body),
        signal: AbortSignal.timeout(10_000),
      })
      if (status !== 200 && status !== 503) this.#unexpected.push(status)
      return status
    } catch {
      this.#cut += 1
      return undefined
    }
  }

  #lost(): readonly string[] {
    const arrived = new Set(readArrivals(this.#file).map(({ key }) => key))
    return [...this.#acknowledged].filter((key) => !arrived.has(key))
  }

  #count(): CrashCounts {
    const arrivals = readArrivals(this.#file)
    const idsOf = new Map<string, Set<string>>()
    const effectsOf = new Map<string, number>()
    for (const { key, webhookId, hadEffect } of arrivals) {
      idsOf.set(key, (idsOf.get(key) ?? new Set()).add(webhookId))
      effectsOf.set(key, (effectsOf.get(key) ?? 0) + (hadEffect ? 1 : 0))
    }
    return {
      kills: this.#plan.kills,
      acknowledged: this.#acknowledged.size,
      deliveries: this.#deliveries,
      cut: this.#cut,
      unexpected: this.#unexpected,
      requests: arrivals.length,
      webhookIds: new Set(arrivals.map(({ webhookId }) => webhookId)).size,
      arrived: idsOf.size,
      effects: [...effectsOf.values()].reduce((sum, effects) => sum + effects, 0),
      lost: this.#lost(),
      doubled: [...idsOf.keys()].filter(
        (key) => idsOf.get(key)?.size !== 1 || effectsOf.get(key) !== 1,
      ),
    }
  }
}
