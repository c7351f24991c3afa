/**
 * A handler that does what the event's payload says, so that a test can decide from outside what
 * happens inside a child process.
 *
 * @module
 */

import type { WebhookEvent } from '../../../src/model/event.ts'
import type { HandlerContext } from '../../../src/work/handler-context.ts'
import { blockThread } from '../block-thread.ts'

export type Step =
  /** Writes a row of the effects ledger through `tx`. */
  | readonly ['write', string]
  /** The same without waiting for it. */
  | readonly ['note', string]
  /** Sends a message to the destination `sink`, after so many milliseconds. */
  | readonly ['send', number?]
  /** Writes a row of the effects ledger on a connection of the handler's own. */
  | readonly ['outside', string]
  /** Runs a statement through `tx`. */
  | readonly ['sql', string]
  /** Tells the test that this point is reached, and waits to be told to go on. */
  | readonly ['reach', string]
  /** Tells the test the same, and stands still by a SIGSTOP to itself, until it gets a SIGCONT. */
  | readonly ['freeze', string]
  | readonly ['sleep', number]
  /** Blocks the event loop for so many milliseconds. */
  | readonly ['block', number]
  | readonly ['throw', string]
  | readonly ['exit', number]
  /** SIGKILL to itself. */
  | readonly ['kill']
  /** An endless loop. */
  | readonly ['spin']
  /** Throws outside any promise that is awaited. */
  | readonly ['uncaught']
  /** A promise that rejects and is not awaited. */
  | readonly ['unhandled']
  /** Takes memory until there is none. */
  | readonly ['exhaust']

export interface Script {
  /** What every attempt does. Left out, the attempt writes one effect. */
  readonly steps?: readonly Step[]
  /** What the first attempt does instead. */
  readonly first?: readonly Step[]
}

export interface ScriptTx {
  query(sql: string, params?: readonly unknown[]): Promise<unknown>
  write(sql: string, params?: readonly unknown[]): void
}

export interface ScriptHost {
  reach(point: string): Promise<void>
  /** Runs a statement on a connection that no store knows. */
  queryOutside?(sql: string, params: readonly unknown[]): Promise<void>
}

export const WRITE_EFFECT = 'insert into effects (event_key, note) values ($1, $2)'

export function createScriptedHandler(
  host: ScriptHost,
): (event: WebhookEvent, context: HandlerContext<ScriptTx>) => Promise<void> {
  return async (event, { tx, attempt, send }) => {
    const { steps = [['write', 'done']], first } = event.payload as Script
    const script = attempt === 1 ? (first ?? steps) : steps
    for (const step of script) await runStep(step, { event, tx, send, host })
  }
}

interface StepContext {
  readonly event: WebhookEvent
  readonly tx: ScriptTx
  readonly send: HandlerContext<ScriptTx>['send']
  readonly host: ScriptHost
}

async function runStep(step: Step, { event, tx, send, host }: StepContext): Promise<void> {
  switch (step[0]) {
    case 'write':
      await tx.query(WRITE_EFFECT, [event.key, step[1]])
      return
    case 'note':
      return tx.write(WRITE_EFFECT, [event.key, step[1]])
    case 'send':
      await send('sink', { event: event.key }, { delayMs: step[1] ?? 0 })
      return
    case 'outside':
      return host.queryOutside?.(WRITE_EFFECT, [event.key, step[1]])
    case 'sql':
      await tx.query(step[1])
      return
    case 'reach':
      return host.reach(`${step[1]} ${event.key}`)
    case 'freeze':
      void host.reach(`${step[1]} ${event.key}`)
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'sleep':
      return new Promise((resolve) => setTimeout(resolve, step[1]))
    case 'block':
      return blockThread(step[1])
    case 'throw':
      throw new Error(step[1])
    case 'exit':
      return process.exit(step[1])
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return neverEnds()
    case 'spin':
      for (;;);
    case 'uncaught':
      setImmediate(() => {
        throw new Error('thrown where nothing catches')
      })
      return neverEnds()
    case 'unhandled':
      void Promise.reject(new Error('rejected where nothing listens'))
      return neverEnds()
    case 'exhaust':
      return exhaust()
  }
}

function neverEnds(): Promise<void> {
  return new Promise(() => undefined)
}

async function exhaust(): Promise<void> {
  const kept: unknown[] = []
  for (;;) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i, text: `kept ${i}` })))
}
