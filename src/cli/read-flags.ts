import { InvalidArgumentError } from 'commander'
import { parseFilter } from '../admin/filter-text.ts'

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

/** A time, or how long ago. */
export function readTime(text: string): Date {
  try {
    const { after } = parseFilter(`after:${text.replace(/ ago$/, '')}`)
    if (after !== undefined) return after
  } catch {
    // The filter's own words speak of a term that was not written.
  }
  throw new InvalidArgumentError(
    'It must be how long ago, such as 2d, or a time such as 2026-11-16T03:00Z.',
  )
}
