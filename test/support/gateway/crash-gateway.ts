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

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundleCommand } from '../faults/bundle-program.ts'
import type { Random } from '../faults/random.ts'
import { until } from '../faults/until.ts'
import { Child } from './child.ts'
import { signForConfig, writeForwardingConfig } from './forwarding-config.ts'
import { ServiceBehind } from './service-behind.ts'
import type { ArrivalCounts } from './service-behind.ts'

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
export interface CrashCounts extends ArrivalCounts {
  readonly kills: number
  /** Events that were answered with a success at least once. */
  readonly acknowledged: number
  readonly deliveries: number
  /** Deliveries that ended without an answer. */
  readonly cut: number
  /** Deliveries that were answered with something else than 200 or 503. */
  readonly unexpected: readonly number[]
  /** What the store has of the events that are lost: whether they are not there, wait, or are dead. */
  readonly storedOfLost: readonly unknown[]
}

/** Whether every event that was answered arrived, under one id, and had one effect, and no answer was another than it may be. */
export function isKept(counts: CrashCounts): boolean {
  const { acknowledged, arrived, webhookIds, effects, lost, doubled, unexpected } = counts
  const isOnce = [arrived, webhookIds, effects].every((count) => count === acknowledged)
  const isClean = [lost, doubled, unexpected].every(({ length }) => length === 0)
  return acknowledged > 0 && isOnce && isClean
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
  readonly #service: ServiceBehind
  readonly #acknowledged = new Set<string>()
  readonly #unexpected: number[] = []
  #deliveries = 0
  #cut = 0
  #isOver = false
  #port = 0
  #gateway: Child | undefined

  constructor(plan: CrashPlan, folder: string) {
    this.#plan = plan
    this.#folder = folder
    this.#service = new ServiceBehind(folder)
  }

  async run(): Promise<CrashCounts> {
    await this.#service.start()
    writeForwardingConfig(this.#folder, this.#service.port)
    this.#startGateway()
    const said = await this.#gateway?.untilWritten('gateway.started')
    this.#port = Number(/"receive":\{[^}]*"port":(\d+)/.exec(said ?? '')?.[1])
    const senders = Array.from({ length: SENDERS }, (_, index) => this.#send(index))
    await this.#kill()
    this.#isOver = true
    await Promise.all(senders)
    const isAllThere = (): boolean => this.#service.listMissing(this.#acknowledged).length === 0
    await until('what was answered has arrived', isAllThere, {
      limitMs: 120_000,
      everyMs: 200,
    }).catch(() => undefined)
    const arrivals = this.#service.count(this.#acknowledged)
    return {
      kills: this.#plan.kills,
      acknowledged: this.#acknowledged.size,
      deliveries: this.#deliveries,
      cut: this.#cut,
      unexpected: this.#unexpected,
      ...arrivals,
      storedOfLost: await Promise.all(
        arrivals.lost.slice(0, 10).map((key) => this.#findStored(key)),
      ),
    }
  }

  /** The events with this key, each with its messages. */
  async #findStored(key: string): Promise<unknown> {
    const found = (await this.#ask('find', key)) as readonly { readonly id: string }[]
    return Promise.all(found.map(({ id }) => this.#ask('show', id)))
  }

  async #ask(...question: readonly string[]): Promise<unknown> {
    const { store, main = bundleCommand() } = this.#plan
    const args = [main, 'events', ...question, '--store', store, '--json']
    // Where nothing is found it prints an empty list, and ends with 3.
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: this.#folder,
    }).catch((error: unknown) => error as { readonly stdout: string })
    return JSON.parse(stdout) as unknown
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#gateway?.kill(), this.#service.kill()])
  }

  /** The service is killed after a third of the kills, and is back two kills later. */
  async #kill(): Promise<void> {
    const { kills, random, onKill } = this.#plan
    const downAt = Math.floor(kills / 3)
    for (let done = 0; done < kills; done += 1) {
      if (done === downAt) await this.#service.kill()
      if (done === downAt + 2) await this.#service.start()
      if (random.between(1, IN_START) > 1) await this.#gateway?.untilWritten('gateway.started')
      await new Promise((resolve) => setTimeout(resolve, random.between(20, 800)))
      await this.#gateway?.kill()
      this.#startGateway()
      onKill?.(done + 1)
    }
    if (this.#service.isDown) await this.#service.start()
    await this.#gateway?.untilWritten('gateway.started')
  }

  #startGateway(): void {
    const { store, main = bundleCommand() } = this.#plan
    const args = ['start', '--store', store, '--port', String(this.#port)]
    this.#gateway = new Child(main, args, this.#folder)
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
    const { headers, body } = signForConfig(key)
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
}
