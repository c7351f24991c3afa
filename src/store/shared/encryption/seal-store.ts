import type { EventSearchStore } from '../../contract/event-search.ts'
import type { LaneStore } from '../../contract/lanes.ts'
import type { MessageStore } from '../../contract/messages.ts'
import type { OnceStore } from '../../contract/once.ts'
import type { OperatorStore } from '../../contract/operators.ts'
import type { QueueStore } from '../../contract/queue.ts'
import type { StepStore } from '../../contract/steps.ts'
import type { Cipher } from './cipher.ts'
import { sealMessages } from './sealed-messages.ts'
import { sealOnce, sealOperators } from './sealed-operators.ts'
import { sealSearch } from './sealed-search.ts'
import type { SealedSearchParts } from './sealed-search.ts'
import { sealLanes, sealQueue, sealSteps } from './sealed-work.ts'

/** The parts of a store that see what is encrypted. What is recorded is sealed where its id is made (`sealDrafts`). */
export interface SealableParts<Tx> {
  readonly queue: QueueStore<Tx>
  readonly lanes: LaneStore
  readonly steps: StepStore<Tx>
  readonly messages: MessageStore<Tx>
  readonly once: OnceStore<Tx>
  readonly operators: OperatorStore
  readonly search: EventSearchStore
}

/** The parts of a store with everything sealed on its way in, and opened on its way out. Without keys, as they are. */
export function sealStore<Tx>(
  cipher: Cipher | undefined,
  parts: SealableParts<Tx>,
  readFailureTexts: SealedSearchParts['readFailureTexts'],
): SealableParts<Tx> {
  if (cipher === undefined) return parts
  return {
    queue: sealQueue(cipher, parts.queue),
    lanes: sealLanes(cipher, parts.lanes),
    steps: sealSteps(cipher, parts.steps),
    messages: sealMessages(cipher, parts.messages),
    once: sealOnce(cipher, parts.once),
    operators: sealOperators(cipher, parts.operators),
    search: sealSearch(cipher, { search: parts.search, readFailureTexts }),
  }
}
