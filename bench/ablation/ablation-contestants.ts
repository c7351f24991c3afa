import type { BenchContext } from '../harness/context.ts'
import { drainContestant } from '../harness/measure-drain.ts'
import { duplicatesContestant } from '../harness/measure-duplicates.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import { relayContestant } from '../harness/measure-relay.ts'
import type { Contestant } from '../harness/measurement.ts'
import { STORM } from '../load/storm-order.ts'
import { RECEIVERS } from '../workloads/w1-receive.ts'
import { DUPLICATE_CASES } from '../workloads/w9-duplicate-while-running.ts'
import type { AblationWorkload } from './parts.ts'

interface Entry {
  readonly name: string
  /** Left out for what is in this tree. */
  readonly build?: string
}

/** Ours in each workload, as in the workload itself and with one setting. All on the Node that runs the bench. */
export class AblationContestants {
  readonly #context: BenchContext
  readonly #receive: ReceiveBench
  readonly #storm: ReceiveBench

  constructor(context: BenchContext) {
    this.#context = context
    this.#receive = new ReceiveBench(context)
    this.#storm = new ReceiveBench(context, STORM)
  }

  create(workload: AblationWorkload, entry: Entry): Contestant {
    switch (workload) {
      case 'W1':
        return this.#receive.contestant({ ...RECEIVERS.ours, ...entry })
      case 'W4':
        return this.#storm.contestant({ ...RECEIVERS.ours, ...entry })
      case 'W2':
        return this.#drain({ shape: 'row', events: 50_000 }, entry)
      case 'W2, waiting':
        return this.#drain({ shape: 'row', events: 50_000, waits: true }, entry)
      case 'W2b':
        return this.#drain({ shape: 'balance', events: 20_000 }, entry)
      case 'W2b, two inboxes':
        return this.#drain({ shape: 'balance', events: 20_000, inboxes: 2 }, entry)
      case 'W2b, waiting, two inboxes':
        return this.#drain({ shape: 'balance', events: 20_000, waits: true, inboxes: 2 }, entry)
      case 'W10':
        return drainContestant(this.#context, this.#task({ shape: 'two rows', events: 5_000 }), {
          script: 'steps-hookonce',
          settings: [{ concurrency: 8, stepsMax: 64 }],
          ...entry,
        })
      case 'W11':
        return this.#relay({ messages: 20_000 }, entry)
      // Many: what cannot be cleared away has to pile up first.
      case 'W11, old snapshot':
        return this.#relay({ messages: 150_000, isSnapshotHeld: true }, entry)
    }
  }

  /** Duplicates of an event whose handler runs, on each store and with each way to know them. */
  createDuplicates(entry: Entry): readonly Contestant[] {
    return DUPLICATE_CASES.map((each) =>
      duplicatesContestant(this.#context, {
        ...each,
        ...entry,
        name: `${entry.name}: ${each.name}`,
      }),
    )
  }

  #drain({ waits = false, inboxes = 1, ...task }: DrainOf, entry: Entry): Contestant {
    return drainContestant(this.#context, this.#task(task), {
      script: 'drain-hookonce',
      settings: [{ concurrency: 4, groupMax: 200, inboxes, ...(waits && { waits }) }],
      ...entry,
    })
  }

  #relay(
    { messages, isSnapshotHeld = false }: { messages: number; isSnapshotHeld?: boolean },
    entry: Entry,
  ): Contestant {
    return relayContestant(
      this.#context,
      { messages: this.#count(messages) },
      { settings: [{ concurrency: 50 }], isSnapshotHeld, ...entry },
    )
  }

  #task<Task extends { readonly events: number }>(task: Task): Task & { readonly runtime: 'ours' } {
    return { ...task, events: this.#count(task.events), runtime: 'ours' }
  }

  #count(events: number): number {
    return this.#context.options.quick ? events / 10 : events
  }
}

interface DrainOf {
  readonly shape: 'row' | 'balance'
  readonly events: number
  readonly waits?: boolean
  readonly inboxes?: number
}
