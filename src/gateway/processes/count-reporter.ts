/**
 * The child's side of the metrics: which process Prometheus asks, and which one counted, are two things.
 *
 * Each child tells its parent once a second what it has counted so far, and says it again when it is asked. So the
 * parent knows it when a child is killed, but for its last second. The child that answers `/metrics` shows what the
 * parent has summed and never its own: what it shows cannot be more than what the parent keeps when it dies.
 *
 * @module
 */

import type { Counted } from '../../metrics/counted.ts'
import { report } from './obey-parent.ts'
import type { Collected, Order } from './orders.ts'

const TELL_MS = 1_000
/** Longer than the parent waits for the others. */
const ANSWER_MS = 5_000

export class CountReporter {
  readonly #waiting = new Map<number, (counted: Counted) => void>()
  #number = 0
  #told = ''
  #count: () => Counted = () => ({})

  /** Tells it from now on. */
  start(count: () => Counted): void {
    this.#count = count
    process.on('message', (message: Order | Collected) => {
      if ('collected' in message) this.#waiting.get(message.number)?.(message.collected)
    })
    setInterval(() => void this.tell(), TELL_MS).unref()
  }

  /** Until the parent has it, as far as this process can see. Says nothing where there is nothing new. */
  async tell(): Promise<void> {
    const counted = this.#count()
    const told = JSON.stringify(counted)
    if (told === this.#told) return
    this.#told = told
    await report({ report: 'counted', counted })
  }

  /** What all children have counted. Rejects where the parent does not say it. */
  async collect(): Promise<Counted> {
    this.#number += 1
    const number = this.#number
    void this.tell()
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(late)
        this.#waiting.delete(number)
      }
      const late = setTimeout(() => {
        end()
        reject(new Error(`The parent did not answer within ${ANSWER_MS} ms`))
      }, ANSWER_MS)
      this.#waiting.set(number, (counted) => {
        end()
        resolve(counted)
      })
      void report({ report: 'collect', number })
    })
  }
}
