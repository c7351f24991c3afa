import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Ordered, ReplayTerms } from '../store/contract/operators.ts'

/** Who asks for a change, and why. All of it is kept in the audit. */
export interface ActionOptions {
  /** Why. Left out, the audit says nothing of it. */
  readonly reason?: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
  /**
   * Stands for this one action: a call with it that is made again, after a double click or a lost answer, changes
   * nothing and is told what became of the first. Left out, every call is an action of its own.
   */
  readonly token?: string
}

/** The same, for what nothing else can explain later. */
export interface ReasonedActionOptions extends ActionOptions {
  /** Why. */
  readonly reason: string
}

/** How an event is replayed. */
export interface ReplayOptions extends ReasonedActionOptions {
  /**
   * Whether the run has idempotency keys of its own, so that outside calls are made and messages are sent once more.
   *
   * @defaultValue false
   */
  readonly freshKeys?: boolean
  /** What the handlers get in place of the body. The body as it came is kept. Left out, they get that. */
  readonly body?: Uint8Array | string
  /**
   * Whether an event of which a run has ended as done is refused.
   *
   * @defaultValue false
   */
  readonly onlyIfNotApplied?: boolean
}

const ORDER_NAMES = ['reason', 'actor', 'token']
const REPLAY_NAMES = [...ORDER_NAMES, 'freshKeys', 'body', 'onlyIfNotApplied']
const REASON_LENGTH_MAX = 2_000
const NAME_LENGTH_MAX = 200

/** @throws OptionInvalidError for what cannot be meant */
export function requireOrder(action: string, options: ActionOptions): Ordered {
  const path = `admin.${action}`
  rejectUnknownKeys(path, options, ORDER_NAMES)
  const { reason, actor, token } = options
  return {
    reason: requireWords(`${path}.reason`, reason, REASON_LENGTH_MAX),
    actor: requireWords(`${path}.actor`, actor, NAME_LENGTH_MAX),
    token: requireWords(`${path}.token`, token, NAME_LENGTH_MAX),
  }
}

/** @throws OptionInvalidError when there is none */
export function requireReason(action: string, options: { readonly reason?: unknown }): void {
  if (typeof options === 'object' && options?.reason !== undefined) return
  throw new OptionInvalidError(`admin.${action}.reason`, 'a text that says why', undefined)
}

/** Takes what is a replay's own from its options. */
export function requireReplay(options: ReplayOptions): {
  readonly replay: ReplayTerms
  readonly rest: ActionOptions
} {
  const path = 'admin.replay'
  rejectUnknownKeys(path, options, REPLAY_NAMES)
  const { freshKeys = false, body, onlyIfNotApplied = false, ...rest } = options
  for (const [name, flag] of Object.entries({ freshKeys, onlyIfNotApplied })) {
    if (typeof flag !== 'boolean')
      throw new OptionInvalidError(`${path}.${name}`, 'true or false', flag)
  }
  if (body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new OptionInvalidError(`${path}.body`, 'a text or bytes', body)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  return { replay: { freshKeys, body: bytes, onlyIfNotApplied }, rest }
}

function requireWords(path: string, value: unknown, lengthMax: number): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '' && value.length <= lengthMax)
    return value.toWellFormed()
  throw new OptionInvalidError(path, `a text of 1 to ${lengthMax} characters`, value)
}
