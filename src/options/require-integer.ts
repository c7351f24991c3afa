import { OptionInvalidError } from '../errors.ts'

export function requireInteger(
  option: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number },
): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw new OptionInvalidError(option, `a whole number ${range}`, value)
}

/** The longest time-out that is taken. Node's timers end at 24 days: one that is set to more fires at once. */
export const HOUR_MS = 3_600_000
