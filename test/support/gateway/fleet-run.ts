/**
 * A fleet of gateways under load, and what reached the service behind it.
 *
 *     senders ─▶ balancer ─▶ receivers ─▶ one PostgreSQL ─▶ workers ─▶ relays ─▶ a service
 *
 * Each event is signed as its provider does and delivered one to three times at once, again and again until one of
 * the deliveries is answered with a success, as providers do.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { until } from '../faults/until.ts'
import { Balancer } from './balancer.ts'
import { signForConfig, writeForwardingConfig } from './forwarding-config.ts'
import { GatewayFleet } from './gateway-fleet.ts'
import type { FleetShape } from './gateway-fleet.ts'
import { ServiceBehind } from './service-behind.ts'
import type { ArrivalCounts } from './service-behind.ts'

export interface FleetPlan {
  readonly shape: FleetShape
  /** As a config has it. */
  readonly store: string
  /** How many events are under way at once. */
  readonly senders: number
  /** The command; left out, from its source. */
  readonly main?: string
}

export interface FleetCounts extends ArrivalCounts {
  readonly acknowledged: number
  readonly deliveries: number
  /** How often deliveries were answered with what. */
  readonly answers: Readonly<Record<string, number>>
  /** Answers that senders must not see, and connections that ended under a delivery. */
  readonly unexpected: readonly string[]
  /** How the processes ended that were told to. */
  readonly exitCodes: readonly (number | null)[]
  /** From the first delivery until all were answered, and until all had arrived. */
  readonly answeredSeconds: number
  readonly arrivedSeconds: number
}

/** Sends so many events through a fleet that is left alone. */
export function runSteadily(plan: FleetPlan, events: number): Promise<FleetCounts> {
  return withRun(plan, (run) => run.send((index) => index < events))
}

/** Restarts every process of a fleet in turn, each after so many more events, while events come in all the time. */
export function runThroughRestarts(plan: FleetPlan, eventsBetween: number): Promise<FleetCounts> {
  return withRun(plan, async (run) => {
    let isOver = false
    const sent = run.send(() => !isOver)
    try {
      await run.restartEach(eventsBetween)
    } finally {
      isOver = true
      await sent
    }
  })
}

async function withRun(
  plan: FleetPlan,
  load: (run: FleetRun) => Promise<void>,
): Promise<FleetCounts> {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-fleet-'))
  const run = new FleetRun(plan, folder)
  try {
    await run.start()
    await load(run)
    return await run.count()
  } finally {
    await run.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

class FleetRun {
  readonly #plan: FleetPlan
  readonly #folder: string
  readonly #service: ServiceBehind
  readonly #balancer: Balancer
  readonly #fleet: GatewayFleet
  readonly #acknowledged = new Set<string>()
  #deliveries = 0
  #startedAt = 0
  #answeredAt = 0

  constructor(plan: FleetPlan, folder: string) {
    this.#plan = plan
    this.#folder = folder
    this.#service = new ServiceBehind(folder)
    // As many altogether, for a fleet of any size.
    this.#balancer = new Balancer(Math.ceil(plan.senders / plan.shape.receivers))
    this.#fleet = new GatewayFleet({ ...plan, folder, balancer: this.#balancer })
  }

  async start(): Promise<void> {
    await this.#service.start()
    writeForwardingConfig(this.#folder, this.#service.port)
    await this.#fleet.start()
  }

  /** Sends one event after the other, as long as there is another one. */
  async send(hasNext: (index: number) => boolean): Promise<void> {
    let index = 0
    const sendOn = async (): Promise<void> => {
      while (hasNext(index)) await this.#sendEvent(index++)
    }
    this.#startedAt = performance.now()
    await Promise.all(Array.from({ length: this.#plan.senders }, sendOn))
    this.#answeredAt = performance.now()
  }

  async restartEach(eventsBetween: number): Promise<void> {
    await this.#fleet.restartEach(() => {
      const enough = this.#acknowledged.size + eventsBetween
      return until('more events were answered', () => this.#acknowledged.size >= enough)
    })
  }

  /** Waits until all have arrived. What does not come within the limit is counted as lost. */
  async count(): Promise<FleetCounts> {
    const isAllThere = (): boolean => this.#service.listMissing(this.#acknowledged).length === 0
    const limits = { limitMs: 120_000, everyMs: 20 }
    await until('what was answered has arrived', isAllThere, limits).catch(() => undefined)
    const arrivedAt = performance.now()
    const { answers } = this.#balancer
    return {
      acknowledged: this.#acknowledged.size,
      deliveries: this.#deliveries,
      answers,
      unexpected: Object.keys(answers).filter((answer) => !EXPECTED.includes(answer)),
      exitCodes: this.#fleet.exitCodes,
      answeredSeconds: (this.#answeredAt - this.#startedAt) / 1_000,
      arrivedSeconds: (arrivedAt - this.#startedAt) / 1_000,
      ...this.#service.count(this.#acknowledged),
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#fleet.kill(), this.#service.kill()])
    this.#balancer.close()
  }

  async #sendEvent(index: number): Promise<void> {
    const key = `evt_${index}`
    const delivery = signForConfig(key)
    const copies = 1 + (index % 3)
    for (;;) {
      this.#deliveries += copies
      const sent = Array.from({ length: copies }, () => this.#balancer.deliver(delivery))
      const answers = await Promise.all(sent)
      if (answers.includes(200)) break
      // A provider does not come again at once.
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    this.#acknowledged.add(key)
  }
}

/** A receiver that is gone refuses connections; one that stops, or has no database, says when to come again. */
const EXPECTED = ['200', '503', 'refused']
