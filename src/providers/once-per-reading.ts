import type { Reading } from '../body/json-path.ts'

/** The same, found once for each event, for what its key, its type and its content are all read from. */
export function oncePerReading<Found>(
  find: (reading: Reading) => Found,
): (reading: Reading) => Found {
  const known = new WeakMap<Reading, { readonly found: Found }>()
  return (reading) => {
    const one = known.get(reading) ?? { found: find(reading) }
    known.set(reading, one)
    return one.found
  }
}
