/**
 * The service behind a gateway, as a run sees it: a process that can be killed and started again on its port, and what
 * has arrived there so far.
 *
 * @module
 */

import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child } from './child.ts'
import type { Arrival } from './destination-process.ts'

const DESTINATION = fileURLToPath(new URL('./destination-process.ts', import.meta.url))

/** What arrived of the events that senders were told are safe. */
export interface ArrivalCounts {
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

export class ServiceBehind {
  readonly #folder: string
  readonly #file: string
  readonly #idsOf = new Map<string, Set<string>>()
  readonly #effectsOf = new Map<string, number>()
  #child: Child | undefined
  #port = 0
  #requests = 0
  #readTo = 0
  #rest = ''

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'arrivals.jsonl')
  }

  get port(): number {
    return this.#port
  }

  get isDown(): boolean {
    return this.#child?.hasEnded !== false
  }

  async start(): Promise<void> {
    this.#child = new Child(DESTINATION, [String(this.#port), this.#file], this.#folder)
    this.#port = Number.parseInt(await this.#child.untilWritten(/^\d+\n/), 10)
  }

  async kill(): Promise<void> {
    await this.#child?.kill()
  }

  /** Of these, the ones that have not arrived yet. */
  listMissing(acknowledged: Iterable<string>): readonly string[] {
    this.#read()
    return [...acknowledged].filter((key) => !this.#idsOf.has(key))
  }

  count(acknowledged: Iterable<string>): ArrivalCounts {
    const lost = this.listMissing(acknowledged)
    return {
      requests: this.#requests,
      webhookIds: new Set([...this.#idsOf.values()].flatMap((ids) => [...ids])).size,
      arrived: this.#idsOf.size,
      effects: [...this.#effectsOf.values()].reduce((sum, effects) => sum + effects, 0),
      lost,
      doubled: [...this.#idsOf.keys()].filter(
        (key) => this.#idsOf.get(key)?.size !== 1 || this.#effectsOf.get(key) !== 1,
      ),
    }
  }

  /** What was written since the last time: a run of many thousand events looks often. */
  #read(): void {
    const file = openSync(this.#file, 'r')
    const chunk = Buffer.alloc(1 << 20)
    for (let size = -1; size !== 0; this.#readTo += size) {
      size = readSync(file, chunk, 0, chunk.length, this.#readTo)
      this.#rest += chunk.toString('latin1', 0, size)
    }
    closeSync(file)
    const lines = this.#rest.split('\n')
    // A line that a kill has cut off belongs to a request that was not answered.
    this.#rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') this.#take(JSON.parse(line) as Arrival)
  }

  #take({ key, webhookId, hadEffect }: Arrival): void {
    this.#requests += 1
    this.#idsOf.set(key, (this.#idsOf.get(key) ?? new Set()).add(webhookId))
    this.#effectsOf.set(key, (this.#effectsOf.get(key) ?? 0) + (hadEffect ? 1 : 0))
  }
}
