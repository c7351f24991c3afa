import { compare } from '../harness/compare.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import type { Workload } from './workload.ts'

const POOLS = [{ poolMax: 10 }, { poolMax: 20 }, { poolMax: 40 }]

export const receiveOverHttp: Workload = {
  id: 'W1',
  title: 'Durable receive over HTTP: Stripe-signed bodies of 1 KB, 64 connections, no duplicates',
  async run(context) {
    const bench = new ReceiveBench(context)
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        bench.contestant('hookonce', 'receive-hookonce', [{ poolMax: 10 }]),
        bench.contestant('a: no store', 'receive-null', [{ poolMax: 0 }]),
        bench.contestant('b: one insert per request', 'receive-insert', POOLS),
        bench.contestant('c: textbook inbox', 'receive-textbook', POOLS),
      ],
      goals: [
        { of: 'hookonce', against: 'a: no store', atLeast: 0.6 },
        { of: 'hookonce', against: 'b: one insert per request', atLeast: 2.4 },
        { of: 'hookonce', against: 'c: textbook inbox', atLeast: 7 },
      ],
    })
  },
}
