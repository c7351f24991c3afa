import { InvalidArgumentError } from 'commander'

/** A number of times. */
export function readCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= 100_000) return count
  throw new InvalidArgumentError('It must be a number from 1 to 100000.')
}

/** For a flag that can be given several times. */
export function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}

/** How many of a list. */
export function readLimit(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= 1_000) return count
  throw new InvalidArgumentError('It must be a number from 1 to 1000.')
}
