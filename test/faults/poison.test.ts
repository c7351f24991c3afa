import { describe, expect, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { Step } from '../support/faults/scripted-handler.ts'
import { beginSubjects } from '../support/faults/start-subjects.ts'
import { until } from '../support/faults/until.ts'

const WRITE = 'insert into effects values ($1, $2)'
const OTHERS = Array.from({ length: 20 }, (_, i) => `evt_${i}`)

describe.each(ENGINES)('an event that ends its process on %s', (engine) => {
  test.each<readonly [string, Step, readonly string[]]>([
    ['process.exit', ['exit', 0], []],
    ['an uncaught exception', ['uncaught'], []],
    ['an unhandled rejection', ['unhandled'], []],
    ['running out of memory', ['exhaust'], ['--max-old-space-size=64']],
  ])(
    'H11: by %s leaves every event of that process to others, with one effect each',
    async (_how, step, nodeOptions) => {
      const database = await createFaultDatabase(engine)
      const survivor = createFaultInbox(database, { worker: { concurrency: 2, deadAfterMs: 500 } })
      await acceptAll(survivor, step)
      const config = { store: database.store, worker: { deadAfterMs: 500 } }
      const [victim] = await beginSubjects('worker', 1, config, { nodeOptions })
      await victim!.gone

      survivor.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'survivor']))
      await survivor.inbox.start()
      await until('nothing is left to do', async () => (await database.count('queue')) === 0)

      expect(await database.listWrongEffects([...OTHERS, 'evt_poison'])).toEqual([])
      const poison = await survivor.getEvent('evt_poison')
      expect(poison).toMatchObject({ state: 'done', outcome: { attempts: 1 } })
      expect(
        survivor.happened.some(
          ({ name, about }) =>
            name === 'event.crashed' && 'eventId' in about && about.eventId === poison.id,
        ),
      ).toBe(true)
    },
  )

  test('H12: that kills its worker every time is dead after three of them, while the others go on with the rest', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = createFaultInbox(database)
    await acceptAll(receiver, ['kill'])
    const workers = await beginSubjects('worker', 5, {
      store: database.store,
      // Longer than a machine that is busy lets a process wait: those that live must not be taken for dead.
      worker: { concurrency: 2, deadAfterMs: 5_000, crashesMax: 3 },
    })

    await until('nothing is left to do', async () => (await database.count('queue')) === 0)

    expect(await receiver.getEvent('evt_poison')).toMatchObject({
      state: 'dead',
      reason: 'crashed',
    })
    const failures = (await receiver.getEvent('evt_poison')).failures
    expect(failures.at(-1)).toMatchObject({ reason: 'crashed' })
    expect(workers.filter(({ process: { signalCode } }) => signalCode === 'SIGKILL').length).toBe(3)
    expect(await database.countEffects('evt_poison')).toBe(0)
    expect(await database.listWrongEffects(OTHERS)).toEqual([])
  })

  test('an event that blocks the event loop has its process ended by the watchdog, and is dead when it has done so too often', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = createFaultInbox(database)
    await acceptAll(receiver, ['spin'])
    const config = {
      store: database.store,
      // A machine that is busy blocks an event loop as well. That is long, and it takes more than one to be dead.
      worker: { concurrency: 1, deadAfterMs: 500, crashesMax: 3, blockedMs: 3_000 },
    }
    const isOver = async (): Promise<boolean> => (await database.count('queue')) === 0
    let ended = 0
    while (!(await isOver())) {
      const [worker] = await beginSubjects('worker', 1, config)
      const { process } = worker!
      const isGone = (): boolean => process.signalCode !== null
      await until('it is ended, or all is done', async () => isGone() || (await isOver()))
      if (!isGone()) break
      expect(await worker!.gone).toMatchObject({ signal: 'SIGKILL' })
      await worker!.closed
      expect(worker!.errors).toContain('the event loop was blocked for more than 3000 ms')
      ended += 1
    }

    expect(ended).toBeGreaterThanOrEqual(3)
    expect(await receiver.getEvent('evt_poison')).toMatchObject({
      state: 'dead',
      reason: 'crashed',
    })
    expect(await database.listWrongEffects(OTHERS)).toEqual([])
    expect(await countDead(database)).toBe(1)
  })
})

/** The poison is among the others, and they are claimed with it. */
async function acceptAll(receiver: FaultInbox, poison: Step): Promise<void> {
  const deliveries = OTHERS.map((key) => fromPartner({ key }))
  deliveries.splice(10, 0, fromPartner({ key: 'evt_poison', steps: [['write', 'poison'], poison] }))
  await Promise.all(deliveries.map((delivery) => accept(receiver, delivery)))
}

function countDead(database: FaultDatabase): Promise<number> {
  return database.count('outcomes', `state = 'dead'`)
}
