import { compare } from '../harness/compare.ts'
import { bullmqContestant, relayContestant } from '../harness/measure-relay.ts'
import type { Workload } from './workload.ts'

const CONCURRENCIES = [{ concurrency: 25 }, { concurrency: 50 }, { concurrency: 100 }]
const GATEWAY = 'hookonce, as the gateway sends'

export const relayMessages: Workload = {
  id: 'W11',
  title: 'Relay 20,000 messages to a local sink, each a signed POST of 1 KiB',
  async run(context) {
    const task = { messages: context.options.quick ? 4_000 : 20_000 }
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        relayContestant(context, task, { name: 'hookonce', settings: CONCURRENCIES }),
        relayContestant(context, task, {
          name: GATEWAY,
          settings: CONCURRENCIES.map((setting) => ({ ...setting, undici: true })),
        }),
        bullmqContestant(task, { name: 'BullMQ', settings: CONCURRENCIES }),
      ],
      goals: [
        { of: 'hookonce', against: 'BullMQ', atLeast: 1 },
        { of: GATEWAY, against: 'BullMQ', atLeast: 1 },
      ],
    })
  },
}
