import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { isDestinationName } from '../model/destination-name.ts'
import { isSourceName } from '../model/source-name.ts'
import type { PauseKind } from '../store/contract/operators.ts'
import type { PauseSubject } from '../store/contract/pauses.ts'

/** What is paused or resumed: exactly one of these. */
export type PauseTarget =
  /** Its deliveries are stored, and none of its events runs. */
  | { readonly source: string }
  /** No event runs that a handler of this name is for, whatever its source. */
  | { readonly handler: string }
  /** Nothing is sent to it. */
  | { readonly destination: string }

const KINDS: readonly PauseKind[] = ['source', 'handler', 'destination']
const HANDLER_NAME_LENGTH_MAX = 1_000

const IS_NAME: Readonly<Record<PauseKind, (name: string) => boolean>> = {
  source: isSourceName,
  handler: (name) => name !== '' && name.length <= HANDLER_NAME_LENGTH_MAX && !name.includes('\0'),
  destination: isDestinationName,
}

/** @throws OptionInvalidError for what cannot be meant */
export function requireTarget(action: 'pause' | 'resume', target: PauseTarget): PauseSubject {
  const path = `admin.${action}`
  rejectUnknownKeys(path, target, KINDS)
  const [[kind, name] = [], ...others] = Object.entries(target) as [PauseKind, unknown][]
  if (kind === undefined || others.length > 0)
    throw new OptionInvalidError(path, 'given one of source, handler and destination', target)
  if (typeof name !== 'string' || !IS_NAME[kind](name))
    throw new OptionInvalidError(`${path}.${kind}`, `the name of a ${kind}`, name)
  return { kind, name }
}
