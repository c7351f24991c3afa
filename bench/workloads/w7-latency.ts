import { compare } from '../harness/compare.ts'
import { ReceiveBench } from '../harness/measure-receive.ts'
import { measureLatency, serviceContestant } from '../harness/measure-service.ts'
import type { ServiceScript } from '../harness/measure-service.ts'
import { RECEIVERS } from './w1-receive.ts'
import type { Workload } from './workload.ts'

const OURS = 'hookonce, receiving and running'
const ON_SQLITE = 'hookonce on SQLite, receiving and running'
const NULL_SERVER = 'a: no store'

export const latencyAtHalfRate: Workload = {
  id: 'W7',
  title: 'Latency at half of the rate that W1 reaches: until the answer, and from stored to done',
  async run(context) {
    const { quick } = context.options
    const receiver = new ReceiveBench(context).contestant(RECEIVERS.ours)
    const { rate: most } = await receiver.measure({ poolMax: 10 })
    const rate = Math.round(most / 2)
    context.say(`  W1 reaches ${Math.round(most)} a second here: ${rate} a second are sent`)
    const pace = { rate, warm: 2 * rate, count: (quick ? 3 : 15) * rate }
    const entry = (name: string, script: ServiceScript, poolMax: number, isSqlite = false) =>
      serviceContestant(context, {
        name,
        script,
        settings: [{ poolMax }],
        isSqlite,
        timedFrom: pace.warm,
        measure: (service) => measureLatency(service, pace),
      })
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        entry(OURS, 'run-hookonce', 20),
        entry(ON_SQLITE, 'run-hookonce', 0, true),
        entry(NULL_SERVER, 'receive-null', 0),
        entry('b: one insert per request', 'receive-insert', 20),
        entry('c: textbook inbox, done when answered', 'receive-textbook', 20),
      ],
      goals: [
        { of: OURS, against: NULL_SERVER, figure: 'answer p99 ms', atMost: 10 },
        { of: OURS, figure: 'done p50 ms', atMost: 15 },
        { of: ON_SQLITE, against: NULL_SERVER, figure: 'answer p99 ms', atMost: 10 },
        { of: ON_SQLITE, figure: 'done p50 ms', atMost: 15 },
      ],
    })
  },
}
