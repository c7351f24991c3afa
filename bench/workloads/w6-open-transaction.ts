import pg from 'pg'
import { compare } from '../harness/compare.ts'
import { measureSustained, serviceContestant, sustainedTask } from '../harness/measure-service.ts'
import type { Service } from '../harness/measure-service.ts'
import type { Measurement } from '../harness/measurement.ts'
import type { Workload } from './workload.ts'

const ALONE = 'hookonce'
const BESIDE = 'hookonce beside an open transaction'
const SLOWER_MAX = 0.85
const ROUNDS = 1

export const besideOpenTransaction: Workload = {
  id: 'W6',
  title:
    'Receive and run while a transaction elsewhere keeps dead rows from being removed, for 10 minutes unless --seconds says otherwise',
  // Minutes each: what grows has had the time to.
  rounds: ROUNDS,
  async run(context) {
    const task = sustainedTask(context.options, 600)
    const entry = (name: string, measure: (service: Service) => Promise<Measurement>) =>
      serviceContestant(context, {
        name,
        script: 'run-hookonce',
        settings: [{ poolMax: 20 }],
        measure,
      })
    return compare({
      ...context.options,
      rounds: ROUNDS,
      say: context.say,
      contestants: [
        entry(ALONE, (service) => measureSustained(service, task)),
        entry(BESIDE, (service) => besideSnapshot(service, () => measureSustained(service, task))),
      ],
      goals: [
        { of: BESIDE, against: ALONE, atLeast: SLOWER_MAX },
        { of: BESIDE, figure: 'rate late/early', atLeast: SLOWER_MAX },
        // What of it a machine that has other work to do does not change.
        { of: BESIDE, against: ALONE, figure: 'own µs/event', atMost: 1 / SLOWER_MAX },
        { of: BESIDE, against: ALONE, figure: 'database µs/event', atMost: 1 / SLOWER_MAX },
      ],
    })
  },
}

/** No row that dies meanwhile can be removed: the snapshot may still want to see it. */
async function besideSnapshot<T>({ postgres }: Service, measure: () => Promise<T>): Promise<T> {
  const client = new pg.Client(postgres)
  await client.connect()
  try {
    await client.query('begin isolation level repeatable read')
    await client.query('select 1 from hookonce.queue limit 1')
    return await measure()
  } finally {
    await client.end()
  }
}
