/**
 * Sends a number of requests, or for so many seconds, so many a second, whether or not the server keeps up. Without a
 * rate, as fast as the connections allow.
 *
 * A request that has to wait for a free connection waits because the server is behind, so its time counts from when it
 * was due. Timers are a millisecond late by themselves, which is not the server's doing: it counts from the tick in
 * which it became due.
 *
 * @module
 */

import { CONNECTIONS } from './generate.ts'
import { LoadConnection } from './load-connection.ts'
import { LoadCounts } from './load-counts.ts'
import { signRequest } from './signed-requests.ts'

const [port, first, count, rate, seconds] = process.argv.slice(2).map(Number) as [
  number,
  number,
  number,
  number,
  number,
]
const counts = new LoadCounts()
const startedAt = performance.now()
const endsAt = startedAt + seconds * 1_000
/** When each that waits for a connection became due. */
const due: number[] = []
let released = 0
let taken = 0
let wake = (): void => undefined
let waking = new Promise<void>((resolve) => (wake = resolve))

if (rate > 0) void release()
await Promise.all(Array.from({ length: CONNECTIONS }, () => keepSending()))
counts.print()

async function release(): Promise<void> {
  while (released < count && performance.now() < endsAt) {
    const now = performance.now()
    const target = Math.min(count, ((now - startedAt) / 1_000) * rate)
    for (; released < target; released += 1) due.push(now)
    wake()
    waking = new Promise<void>((resolve) => (wake = resolve))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  wake()
}

async function keepSending(): Promise<void> {
  const connection = new LoadConnection(port)
  while (taken < count && performance.now() < endsAt) {
    const dueAt = rate === 0 ? performance.now() : due[taken]
    if (dueAt === undefined) {
      await waking
      continue
    }
    const request = signRequest(first + taken)
    taken += 1
    counts.answered(await connection.send(request), dueAt)
  }
  connection.close()
}
