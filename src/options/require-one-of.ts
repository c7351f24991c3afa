import { OptionInvalidError } from '../errors.ts'

export function requireOneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return
  throw new OptionInvalidError(
    option,
    `one of ${allowed.map((v) => JSON.stringify(v)).join(', ')}`,
    value,
  )
}
