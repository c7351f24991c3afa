import type { DuplicateConfig } from '../subjects/duplicate-hookonce.ts'
import { Subject } from './child.ts'
import type { BenchContext } from './context.ts'
import type { Contestant, Measurement } from './measurement.ts'

const DUPLICATES = 50

export interface DuplicatesEntry {
  readonly name: string
  readonly engine: 'postgres' | 'sqlite'
  /** 0 to have the database decide, while the handler's transaction is open. */
  readonly rememberMax: number
  /** Where its compiled code is, if that is not what is in this tree. */
  readonly build?: string
}

/** Answers duplicates while the handler of their event runs. The rate is how many it could answer one after the other. */
export function duplicatesContestant(
  context: BenchContext,
  { name, engine, rememberMax, build }: DuplicatesEntry,
): Contestant {
  const task = {
    rememberMax,
    duplicates: DUPLICATES,
    handlerMs: context.options.quick ? 2_000 : 10_000,
  }
  return {
    name,
    runtime: 'ours',
    isOurs: true,
    settings: [{}],
    measure: () =>
      engine === 'sqlite'
        ? measure({ ...task, sqlite: context.createFile('duplicates.db'), poolMax: 0 }, build)
        : context.withDatabase((postgres) => measure({ ...task, postgres, poolMax: 10 }, build)),
  }
}

async function measure(config: DuplicateConfig, build: string | undefined): Promise<Measurement> {
  const subject = new Subject('duplicate-hookonce', config, 'ours', build)
  try {
    await subject.next('filled')
    subject.go()
    const { notes } = await subject.next('finished')
    const read = (name: string) => Number(notes[name])
    return {
      rate: 1_000 / read('medianMs'),
      lost: config.duplicates - read('answered'),
      doubled: read('runs') - 1,
      figures: { 'answer p50 ms': read('medianMs'), 'answer slowest ms': read('slowestMs') },
      notes: {},
    }
  } finally {
    await subject.stop()
  }
}
