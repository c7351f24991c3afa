/**
 * Lets the thread stand still, and with it the event loop: to all that waits for it the same as a long calculation, and
 * the processor is free for other tests.
 */
export function blockThread(ms: number): void {
  Atomics.wait(NEVER_CHANGED, 0, 0, ms)
}

const NEVER_CHANGED = new Int32Array(new SharedArrayBuffer(4))
