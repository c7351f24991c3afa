import type { EventRecord } from '../../index.ts'
import type { Field } from './print-fields.ts'

/** The commands that are for an event in this state, each with what it does. */
export function describeNext(
  { id, state, blockedBy }: Pick<EventRecord, 'id' | 'state' | 'blockedBy'>,
  { isPaused }: { readonly isPaused: boolean },
): readonly Field[] {
  const discard: Field = ['end it', `hookonce discard ${id} --reason '…'`]
  const release: Field = ['run it', `hookonce release ${id} --reason '…'`]
  switch (state) {
    case 'dead':
      return [['run it', `hookonce retry ${id}`], discard]
    case 'ready':
      // Its time is not what it waits for.
      return isPaused ? [['look', 'hookonce pauses']] : [['run it now', `hookonce retry ${id}`]]
    case 'conflict':
    case 'quarantined':
      return [release, discard]
    case 'unhandled':
      return [['run it', 'register a handler for its type'], discard]
    case 'waiting':
      return blockedBy?.eventId === undefined
        ? [['look', 'hookonce pauses']]
        : [['look', `hookonce events show ${blockedBy.eventId}`]]
    case 'done':
    case 'skipped':
    case 'discarded':
      return [['run again', `hookonce replay ${id} --reason '…'`]]
    case 'running':
      return []
  }
}
