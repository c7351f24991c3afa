import { compare } from '../harness/compare.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import type { ReceiveEntry } from '../harness/measure-receive.ts'
import type { Workload } from './workload.ts'

const POOLS = [{ poolMax: 10 }, { poolMax: 20 }, { poolMax: 40 }]
const OURS = 'hookonce'
const CEILING = 'a: no store'
const INSERT = 'b: one insert per request'
const TEXTBOOK = 'c: textbook inbox'

/** Who receives, in this workload and in the storm of duplicates. */
export const RECEIVERS = {
  ours: { name: OURS, script: 'receive-hookonce', settings: [{ poolMax: 10 }] },
  ceiling: { name: CEILING, script: 'receive-null', settings: [{ poolMax: 0 }] },
  insert: { name: INSERT, script: 'receive-insert', settings: POOLS },
  textbook: { name: TEXTBOOK, script: 'receive-textbook', settings: POOLS },
} as const satisfies Record<string, ReceiveEntry>

export const receiveOverHttp: Workload = {
  id: 'W1',
  title: 'Durable receive over HTTP: Stripe-signed bodies of 1 KB, 64 connections, no duplicates',
  async run(context) {
    const bench = new ReceiveBench(context)
    return compare({
      ...context.options,
      say: context.say,
      contestants: Object.values(RECEIVERS).map((entry) => bench.contestant(entry)),
      goals: [
        { of: OURS, against: CEILING, atLeast: 0.6 },
        { of: OURS, against: INSERT, figure: 'database µs/event', atMost: 0.6 },
        { of: OURS, against: INSERT, figure: 'own µs/event', atMost: 1 },
        { of: OURS, against: INSERT, figure: 'commits/event', atMost: 0.1 },
        { of: OURS, against: INSERT, figure: 'log bytes/event', atMost: 1 },
        { of: OURS, against: TEXTBOOK, atLeast: 3 },
      ],
    })
  },
}
