import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { isDestinationName } from '../model/destination-name.ts'
import { isSourceName } from '../model/source-name.ts'
import type { PauseKind } from '../store/contract/operators.ts'
import type { PausedByName, PauseSubject } from '../store/contract/pauses.ts'

/** What is paused or resumed: exactly one of these. */
export type PauseTarget =
  /** Its deliveries are stored, and none of its events runs. */
  | { readonly source: string }
  /** No event runs that a handler of this name is for, whatever its source. */
  | { readonly handler: string }
  /** Nothing is sent to it. */
  | { readonly destination: string }
  /** None of its events runs, and all others do. */
  | { readonly lane: LaneName }

/** A lane, as its events show it. */
export interface LaneName {
  /** The name of its source. */
  readonly source: string
  /** What the handler's `order.lane` returns for its events. */
  readonly key: string
}

const KINDS: readonly PauseKind[] = ['source', 'handler', 'destination', 'lane']
const HANDLER_NAME_LENGTH_MAX = 1_000

const IS_NAME: Readonly<Record<PausedByName['kind'], (name: string) => boolean>> = {
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
    throw new OptionInvalidError(path, `given one of ${KINDS.join(', ')}`, target)
  if (kind === 'lane') {
    const { source, key } = requireLane(`${path}.lane`, name)
    return { kind, name: key, source }
  }
  if (typeof name !== 'string' || !IS_NAME[kind](name))
    throw new OptionInvalidError(`${path}.${kind}`, `the name of a ${kind}`, name)
  return { kind, name }
}

/** @throws OptionInvalidError for what cannot be meant */
export function requireLane(option: string, lane: unknown): LaneName {
  rejectUnknownKeys(option, lane, ['source', 'key'])
  const { source, key } = lane as { readonly source: unknown; readonly key: unknown }
  if (typeof source !== 'string' || !isSourceName(source))
    throw new OptionInvalidError(`${option}.source`, 'the name of a source', source)
  if (typeof key !== 'string' || key === '')
    throw new OptionInvalidError(`${option}.key`, "what the handler's order.lane returns", key)
  return { source, key: key.toWellFormed() }
}
