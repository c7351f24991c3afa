import { HookonceError, OptionInvalidError, rejectUnknownKeys, requireInteger } from '../errors.ts'
import type { MessageDraft } from '../model/message.ts'
import type { StepSendOptions } from './step-context.ts'

/** 30 days. */
const DELAY_MS_MAX = 2_592_000_000

export function draftMessage({
  destination,
  payload,
  options,
  idempotencyKey,
  eventId,
}: {
  readonly destination: string
  readonly payload: unknown
  readonly options: StepSendOptions
  readonly idempotencyKey: string
  readonly eventId: string
}): MessageDraft {
  if (typeof destination !== 'string' || destination === '')
    throw new OptionInvalidError('send destination', 'the name of a destination', destination)
  rejectUnknownKeys('send', options, ['key', 'delayMs', 'headers'])
  const { delayMs = 0, headers = {} } = options
  requireInteger('send.delayMs', delayMs, { min: 0, max: DELAY_MS_MAX })
  const isBytes = payload instanceof Uint8Array
  return {
    destination,
    key: idempotencyKey,
    body: isBytes ? payload : Buffer.from(stringify(payload)),
    contentType: isBytes ? 'application/octet-stream' : 'application/json',
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    delayMs,
    eventId,
  }
}

function stringify(payload: unknown): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(payload)
  } catch (error) {
    cause = error
  }
  if (text !== undefined) return text
  throw new HookonceError('RESULT_INVALID', 'What is to be sent cannot be written as JSON', {
    cause,
  })
}
