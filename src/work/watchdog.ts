/**
 * Ends the process when its event loop has been blocked for too long.
 *
 * A handler in an endless loop holds every other handler, the heartbeat and the drain of this process,
 * and no timer of ours can run to notice. A thread can: the main loop counts in shared memory, the
 * thread looks whether it still counts. The kill is counted as a crash on what was running, so the same
 * event cannot do it for ever.
 *
 * @module
 */

import { Worker as Thread } from 'node:worker_threads'

export interface Watchdog {
  stop(): Promise<void>
}

export function startWatchdog({ blockedMs }: { readonly blockedMs: number }): Watchdog {
  const counter = new Int32Array(new SharedArrayBuffer(4))
  const checkMs = Math.max(10, Math.floor(blockedMs / 4))
  const tick = setInterval(
    () => Atomics.add(counter, 0, 1),
    Math.max(5, Math.floor(checkMs / 2)),
  ).unref()
  const thread = new Thread(THREAD, {
    eval: true,
    workerData: { counter, blockedMs, checkMs },
    stdout: false,
  })
  thread.unref()
  // Without the thread there is no watchdog, and everything else works.
  thread.on('error', () => undefined)
  return {
    async stop() {
      clearInterval(tick)
      await thread.terminate()
    },
  }
}

/**
 * SIGKILL rather than exit: exit hooks would run on the very loop that is blocked.
 * A machine that slept, or a stopped process, makes the thread's own clock jump as well: then it starts
 * counting anew instead of blaming the loop.
 */
const THREAD = `
const { workerData: { counter, blockedMs, checkMs } } = require('node:worker_threads')
let last = Atomics.load(counter, 0)
let blockedForMs = 0
let lookedAt = performance.now()
setInterval(() => {
  const sinceMs = performance.now() - lookedAt
  lookedAt = performance.now()
  const now = Atomics.load(counter, 0)
  if (now !== last || sinceMs > checkMs * 3) { last = now; blockedForMs = 0; return }
  blockedForMs += sinceMs
  if (blockedForMs < blockedMs) return
  require('node:fs').writeSync(2, 'hookonce: the event loop was blocked for more than ' + blockedMs + ' ms (worker.blockedMs); ending the process\\n')
  process.kill(process.pid, 'SIGKILL')
}, checkMs)
`
