import { setTimeout as sleep } from 'node:timers/promises'
import { CommitUnknownError } from '../errors.ts'

const TRIES = 4
const PAUSE_MS = 250

export interface RetriedWrite<Answer> {
  readonly answer: Answer
  /** An earlier try may have been the one that wrote: its COMMIT was not answered. */
  readonly unheard: CommitUnknownError | undefined
}

/**
 * Writes what has happened and cannot be taken back, again while the database is away; after some seconds
 * it throws what the last try did, and the caller has to go on without.
 */
export async function retryWrite<Answer>(
  write: () => Promise<Answer>,
): Promise<RetriedWrite<Answer>> {
  let unheard: CommitUnknownError | undefined
  for (let tries = 1; ; tries += 1) {
    try {
      return { answer: await write(), unheard }
    } catch (error) {
      if (tries >= TRIES) throw error
      if (error instanceof CommitUnknownError) unheard = error
      await sleep(PAUSE_MS * 2 ** tries)
    }
  }
}
