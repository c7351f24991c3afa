import { compileLocator } from '../body/json-path.ts'
import type { Reading } from '../body/json-path.ts'
import { findIsoMs } from '../verify/timestamp.ts'

/**
 * The first time at these places, as milliseconds since 1970, so that two of them compare as numbers
 * whatever their offsets. Takes the forms that are almost ISO 8601 as well: `2025-10-09 08:53:20 UTC`
 * (GitLab) and `2025-10-09T10:53:20.000+0200` (Atlassian).
 */
export function instantAt(...places: readonly string[]): (reading: Reading) => string | undefined {
  const locators = places.map((place) => compileLocator('instantAt', place))
  return (reading) => {
    for (const locator of locators) {
      const ms = findIsoMs(toIso(locator.find(reading) ?? ''))
      if (ms !== undefined) return String(ms)
    }
    return undefined
  }
}

function toIso(text: string): string {
  return text
    .replace(/^(\d{4}-\d{2}-\d{2}) /, '$1T')
    .replace(/ UTC$/, 'Z')
    .replace(/ ?([+-]\d{2}):?(\d{2})$/, '$1:$2')
}
