/**
 * A step handler that does what the event's payload says, so that a test can decide from outside what
 * happens inside a child process.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import type { WebhookEvent } from '../../../src/model/event.ts'
import type { CallOptions, StepContext } from '../../../src/work/steps/step-context.ts'
import type { ScriptHost, ScriptTx } from './scripted-handler.ts'
import { WRITE_EFFECT } from './scripted-handler.ts'
import { blockThread } from '../block-thread.ts'

export type ScriptedStep =
  /** A `step.tx` that writes a row of the effects ledger, for `<key>:<name>`. */
  | readonly ['tx', string]
  /** A `step.tx` that does the same, reaches a point of its name, and then commits. */
  | readonly ['open tx', string]
  /** A `step.call` to the sink. */
  | readonly ['call', string, CallOptions?]
  /** A `step.send` to the destination `sink`. */
  | readonly ['send', string]
  /** Writes a row of the effects ledger on a connection of the handler's own, between steps. */
  | readonly ['outside', string]
  /** Tells the test that this point is reached, and waits to be told to go on. */
  | readonly ['reach', string]
  | readonly ['sleep', number]
  /** Blocks the event loop until there is such a file. */
  | readonly ['spin', string]
  /** Blocks the event loop for so many milliseconds, once for all the events of the process that are here by then. */
  | readonly ['busy together', number]
  | readonly ['throw', string]
  /** SIGKILL to itself. */
  | readonly ['kill']

export interface StepScript {
  readonly steps?: readonly ScriptedStep[]
  /** What the first attempt does instead. */
  readonly first?: readonly ScriptedStep[]
}

export function createScriptedSteps(
  host: ScriptHost,
  sink: string,
): (event: WebhookEvent, step: StepContext<ScriptTx>) => Promise<void> {
  return async (event, step) => {
    const { steps = [], first } = event.payload as StepScript
    const script = step.attempt === 1 ? (first ?? steps) : steps
    for (const each of script) await run(each, { event, step, host, sink })
  }
}

interface Scene {
  readonly event: WebhookEvent
  readonly step: StepContext<ScriptTx>
  readonly host: ScriptHost
  readonly sink: string
}

async function run(scripted: ScriptedStep, { event, step, host, sink }: Scene): Promise<void> {
  switch (scripted[0]) {
    case 'tx':
      return step.tx(scripted[1], async (tx) => {
        await tx.query(WRITE_EFFECT, [`${event.key}:${scripted[1]}`, String(step.attempt)])
      })
    case 'open tx':
      return step.tx(scripted[1], async (tx) => {
        await tx.query(WRITE_EFFECT, [`${event.key}:${scripted[1]}`, String(step.attempt)])
        await host.reach(`${scripted[1]} ${event.key}`)
      })
    case 'call':
      return step.call(scripted[1], scripted[2] ?? {}, async ({ idempotencyKey, signal }) => {
        const response = await fetch(sink, {
          method: 'POST',
          body: `${event.key}:${scripted[1]}`,
          headers: { 'idempotency-key': idempotencyKey },
          signal,
        })
        if (!response.ok) throw new Error(`The sink answered ${response.status}`)
      })
    case 'send':
      return step.send('sink', { event: event.key }, { key: `${event.key}:${scripted[1]}` })
    case 'outside':
      return host.queryOutside?.(WRITE_EFFECT, [event.key, scripted[1]])
    case 'reach':
      return host.reach(`${scripted[1]} ${event.key}`)
    case 'sleep':
      return new Promise((resolve) => setTimeout(resolve, scripted[1]))
    case 'spin':
      while (!existsSync(scripted[1])) blockThread(1)
      return
    case 'busy together':
      return blockTogether(scripted[1])
    case 'throw':
      throw new Error(scripted[1])
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => undefined)
  }
}

/** How long others may still come, before the event loop is blocked. */
const GATHER_MS = 100
let blocking: Promise<void> | undefined

function blockTogether(ms: number): Promise<void> {
  blocking ??= new Promise((resolve) => {
    setTimeout(() => {
      blocking = undefined
      blockThread(ms)
      resolve()
    }, GATHER_MS)
  })
  return blocking
}
