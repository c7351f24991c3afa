/**
 * A database, the outside world, workers in processes of their own, and a worker that takes over from them.
 *
 * @module
 */

import { startSink } from '../sink.ts'
import type { Sink, SinkOptions } from '../sink.ts'
import { createFaultDatabase } from './fault-database.ts'
import type { Engine, FaultDatabase } from './fault-database.ts'
import { createFaultInbox } from './fault-inbox.ts'
import type { FaultInbox } from './fault-inbox.ts'
import { createScriptedSteps } from './scripted-steps.ts'
import { startSubject } from './start-subjects.ts'
import type { SpawnOptions, Subject } from './subject.ts'
import type { SubjectConfig } from './subject-messages.ts'

/** A worker that never takes another one for dead. */
export const PATIENT = { concurrency: 2, deadAfterMs: 600_000, pollMs: 50 }
/** One that does so soon. */
export const HASTY = { concurrency: 2, deadAfterMs: 500, pollMs: 50 }
export const SOON = { retry: { firstMs: 1, factor: 1 } }

export interface StepsScene {
  readonly database: FaultDatabase
  readonly sink: Sink
  /** The test's own inbox: it stores, and takes over when its handler is added and it is started. */
  readonly other: FaultInbox
  /** A worker in a process of its own. */
  start(config?: Partial<SubjectConfig>, options?: SpawnOptions): Promise<Subject>
  takeOver(options?: object): Promise<void>
}

export async function openScene(
  engine: Engine,
  sinkOptions: SinkOptions = {},
): Promise<StepsScene> {
  const database = await createFaultDatabase(engine)
  const sink = await startSink(sinkOptions)
  const other = createFaultInbox(database, { worker: { ...HASTY, crashesMax: 3 } })
  await other.inbox.admin.countEvents()
  return {
    database,
    sink,
    other,
    start: (config, options) =>
      startSubject(
        'worker',
        {
          store: database.store,
          worker: PATIENT,
          steps: { sink: sink.url, options: SOON },
          ...config,
        },
        options,
      ),
    takeOver: async (options = SOON) => {
      const host = { reach: () => Promise.resolve() }
      other.inbox.steps('partner', '*', options, createScriptedSteps(host, sink.url))
      await other.inbox.start()
    },
  }
}
