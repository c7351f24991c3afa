import type { SubjectKind } from '../../test/support/faults/subject.ts'
import { DEAD_AFTER_MS, sleep } from './crash-run.ts'
import type { CrashRun, Fault } from './crash-run.ts'

/** Processes that die at any moment, at a statement, or in order, and one that stands still. */
export function killProcesses(): readonly Fault[] {
  return [
    { name: 'kill -9 of a receiver', weight: 3, inject: signal('receiver', 'SIGKILL') },
    { name: 'kill -9 of a worker', weight: 4, inject: signal('worker', 'SIGKILL') },
    { name: 'kill -9 at a statement of a receiver', weight: 4, inject: arm('receiver') },
    { name: 'kill -9 at a statement of a worker', weight: 6, inject: arm('worker') },
    { name: 'SIGTERM to a receiver', weight: 1, inject: signal('receiver', 'SIGTERM') },
    { name: 'SIGTERM to a worker', weight: 1, inject: signal('worker', 'SIGTERM') },
    { name: 'a frozen worker', weight: 1, inject: freeze },
  ]
}

function signal(kind: SubjectKind, name: NodeJS.Signals): Fault['inject'] {
  return async ({ fleet, random }) => {
    fleet.find(kind, random)?.signal(name)
    return undefined
  }
}

function arm(kind: SubjectKind): Fault['inject'] {
  return async ({ fleet, random }) => {
    const at = random.between(1, 60)
    const subject = fleet.find(kind, random)
    await subject?.arm({ at, then: 'kill' }).catch(() => undefined)
    return undefined
  }
}

async function freeze({ fleet, random, database }: CrashRun): Promise<undefined> {
  const worker = fleet.find('worker', random)
  worker?.signal('SIGSTOP')
  // A frozen process that holds SQLite's one lock holds all of them: nothing else can be seen meanwhile.
  await sleep(database.engine === 'sqlite' ? 300 : random.between(500, DEAD_AFTER_MS + 2_000))
  worker?.signal('SIGCONT')
}
